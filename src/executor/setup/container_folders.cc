// LOCAL_DIRS, a variable of the NodeManager, is a list of folders on different disks; the first one
// is used.
#include "executor/setup/container_folders.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "logs/container_logs.h"

namespace tony::executor {
namespace {

std::string FirstOf(const std::string& folders) { return folders.substr(0, folders.find(',')); }

/// A file or folder of one attempt that is not for the user's eyes. In the working folder it would
/// be in the way of programs that copy or list it.
std::string OfAttempt(const v1::Assignment& assignment, int attempt,
                      const std::string& working_folder, const std::string& name) {
  if (assignment.log_folder().empty()) return absl::StrCat(working_folder, "/.tony/", name);
  return absl::StrCat(assignment.log_folder(), "/attempt-", attempt, "/", name);
}

}  // namespace

std::string Variable(const std::vector<std::string>& environment, const std::string& name) {
  const std::string beginning = absl::StrCat(name, "=");
  for (const std::string& variable : environment) {
    if (absl::StartsWith(variable, beginning)) return variable.substr(beginning.size());
  }
  return "";
}

std::string LogFolder(const std::vector<std::string>& environment,
                      const std::string& working_folder) {
  const std::string folder = Variable(environment, logs::kLogFolderVariable);
  return folder.empty() ? working_folder : folder;
}

std::string LogPrefix(const v1::Assignment& assignment, int attempt,
                      const std::vector<std::string>& environment,
                      const std::string& working_folder) {
  const std::string name = absl::StrCat("/attempt-", attempt);
  if (!assignment.log_folder().empty()) return absl::StrCat(assignment.log_folder(), name, "/");
  return absl::StrCat(LogFolder(environment, working_folder), name, ".");
}

// YARN's collection of logs would read a pipe among the logs.
std::string ReportPipePath(const v1::Assignment& assignment, int attempt,
                           const std::string& working_folder) {
  return OfAttempt(assignment, attempt, working_folder, "progress");
}

std::string StacksFolder(const v1::Assignment& assignment, int attempt,
                         const std::string& working_folder) {
  return OfAttempt(assignment, attempt, working_folder, "stacks");
}

std::string CacheFolder(const v1::Assignment& assignment,
                        const std::vector<std::string>& environment,
                        const std::string& working_folder) {
  if (!assignment.cache_folder().empty()) return assignment.cache_folder();
  const std::string folder = FirstOf(Variable(environment, "LOCAL_DIRS"));
  return absl::StrCat(folder.empty() ? working_folder : folder, "/tony-cache");
}

}  // namespace tony::executor
