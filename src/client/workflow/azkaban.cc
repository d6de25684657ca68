// Azkaban's variables and properties are those of its ProcessJob, since 3.0. The web server's host
// and links are missing where the server does not set azkaban.webserver.url.
#include "client/workflow/azkaban.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"

namespace tony::client {
namespace {

constexpr char kProperties[] = "JOB_PROP_FILE";
constexpr char kOutputs[] = "JOB_OUTPUT_PROP_FILE";

/// The pages, the most exact one first.
constexpr const char* kLinks[] = {"attempt", "job", "jobexec", "execution", "workflow"};

/// The beginnings of properties that steer a step.
constexpr const char* kSteering[] = {"tony.", "env.", "worker_env.", "hadoop-inject.", "azkaban."};

bool Steers(const std::string& name) {
  return std::any_of(std::begin(kSteering), std::end(kSteering),
                     [&](const char* begin) { return absl::StartsWith(name, begin); });
}

/// The properties that name the step. A plain value.
class StepNames {
 public:
  explicit StepNames(const std::vector<jobfile::JavaProperty>& properties) {
    for (const auto& property : properties) values_[property.name] = property.value;
  }

  /// The value; empty: there is none.
  std::string operator[](const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : jobfile::RepairMisreadUtf8(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

/// A job's id is unique in its flow only; in an embedded flow the path names the job as well.
std::vector<std::string> KeyParts(const StepNames& names) {
  const std::string path = names["azkaban.flow.nested.path"];
  const std::string step = path.empty() ? names["azkaban.job.id"] : path;
  const std::string execution = names["azkaban.flow.execid"];
  if (execution.empty() || step.empty()) return {};
  return {names["azkaban.webserverhost"], names["azkaban.flow.projectname"], execution, step};
}

}  // namespace

bool IsAzkaban(const EnvironmentLookup& variables) {
  return variables(kProperties).has_value() && variables(kOutputs).has_value();
}

absl::StatusOr<AzkabanStep> ReadAzkabanStep(const EnvironmentLookup& variables,
                                            const std::string& working_folder) {
  const std::string path = variables(kProperties).value_or("");
  const auto properties = jobfile::ReadJavaProperties(path);
  if (!properties.ok()) return Annotate(properties.status(), kProperties);
  const StepNames names(*properties);
  AzkabanStep step;
  step.key_parts = KeyParts(names);
  step.job_id = names["azkaban.job.id"];
  if (step.job_id.empty()) step.job_id = variables("JOB_NAME").value_or("");
  if (!absl::SimpleAtoi(names["azkaban.job.attempt"], &step.attempt)) step.attempt = 0;
  for (const std::string link : kLinks) {
    const std::string url = names[absl::StrCat("azkaban.link.", link, ".url")];
    if (!url.empty()) step.links.emplace_back(link, url);
  }
  step.outputs = variables(kOutputs).value_or("");
  TONY_ASSIGN_OR_RETURN(step.job, TranslateAzkabanJob(*properties, path, working_folder));
  return step;
}

std::string AzkabanOutputPrefix(const std::string& job_id) {
  const std::string prefix = absl::StrCat(job_id, ".");
  return Steers(prefix) ? absl::StrCat("step.", prefix) : prefix;
}

// Azkaban loses all outputs of a file that is no JSON object or has a null, so every value is text.
absl::Status WriteAzkabanOutputs(const std::string& path,
                                 const std::vector<std::pair<std::string, std::string>>& outputs) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : outputs) {
    if (!Steers(name)) json[ToUtf8(name)] = ToUtf8(value);
  }
  const os::UniqueFd file(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file.valid()) return os::ErrnoError(errno, path);
  const std::string text = absl::StrCat(json.dump(), "\n");
  return os::WriteAll(file.get(), text.data(), text.size(), path);
}

}  // namespace tony::client
