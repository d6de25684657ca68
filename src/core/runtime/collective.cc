// The key yields to one that the job sets; the module's folder is appended to PYTHONPATH.
#include "core/runtime/collective.h"

#include "absl/strings/str_cat.h"

namespace tony::core {

void SetCollectiveKey(const JobDescription& job, const std::string& key, Environment& environment) {
  if (job.container_env.count(kCollectiveKeyVariable) > 0) return;
  environment[kCollectiveKeyVariable] = key;
}

void AppendToPythonPath(const std::string& folder, Environment& environment) {
  std::string& path = environment["PYTHONPATH"];
  // An empty entry would mean the working folder.
  path = path.empty() ? folder : absl::StrCat(path, ":", folder);
}

void PrependToPythonPath(const std::string& folder, Environment& environment) {
  std::string& path = environment["PYTHONPATH"];
  path = path.empty() ? folder : absl::StrCat(folder, ":", path);
}

}  // namespace tony::core
