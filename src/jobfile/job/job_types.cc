// Task types: size of the containers, command, environment, files and tracking. Key values are
// known to be checked: an invalid one reads as its default here.
#include "jobfile/job/job_types.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "jobfile/job/framework.h"
#include "jobfile/job/key_check.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/keys/value_check.h"
#include "jobfile/values/resource_grammar.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

constexpr char kTensorBoard[] = "tensorboard";
// Enough for tony's own driver, which stores little more than the addresses of the processes.
constexpr int64_t kDriverMemoryMb = 256;
constexpr char kLogDir[] = "tony.application.tensorboard-log-dir";

// Builds one type. Not thread safe.
class TypeBuilder {
 public:
  TypeBuilder(const Configuration& configuration, const std::string& name, BuildResult* result)
      : configuration_(configuration), result_(*result) {
    type_.name = name;
    type_.tracking = TrackingOf(name);
  }

  core::TaskType Build() {
    const bool driver = IsHorovodDriver(configuration_, type_.name);
    if (driver) type_.tracking = core::Tracking::kUntracked;
    if (driver && HorovodDriverOf(configuration_) == HorovodDriver::kTony) return TonysDriver();
    type_.instances = Instances();
    if (type_.instances == 0) return type_;
    type_.resources.memory_mb = configuration_.GetMemoryMb(KeyOf("memory"));
    type_.resources.vcores = static_cast<int>(configuration_.GetNumber(KeyOf("vcores")));
    type_.resources.gpus = static_cast<int>(configuration_.GetNumber(KeyOf("gpus")));
    type_.env = configuration_.GetKeyValues(KeyOf("env"));
    type_.stop_on_failure = absl::c_linear_search(
        configuration_.GetList("tony.application.stop-on-failure-jobtypes"), type_.name);
    type_.port_release = configuration_.GetBoolean(KeyOf("port-release"));
    type_.restart_scope = RestartScope();
    type_.command = Command();
    type_.files = BuildFiles(configuration_, type_.name, &result_);
    CheckMaximum();
    GrowIfElastic();
    return std::move(type_);
  }

 private:
  // An elastic job has as many tasks as it may ever have processes, and begins with fewer.
  void GrowIfElastic() {
    if (type_.name != core::kElasticType ||
        HorovodDriverOf(configuration_) != HorovodDriver::kTony ||
        configuration_.GetNumber(KeyOf("min-instances")) < 1) {
      return;
    }
    type_.instances = std::max(type_.instances,
                               static_cast<int>(configuration_.GetNumber(KeyOf("max-instances"))));
  }

  // CheckHorovodJob() reports other keys that are set for the driver's type.
  core::TaskType TonysDriver() {
    type_.instances = 1;
    type_.resources.memory_mb = configuration_.IsSet(KeyOf("memory"))
                                    ? configuration_.GetMemoryMb(KeyOf("memory"))
                                    : kDriverMemoryMb;
    type_.resources.vcores = static_cast<int>(configuration_.GetNumber(KeyOf("vcores")));
    type_.restart_scope = RestartScope();
    CheckMaximum();
    return std::move(type_);
  }

  std::string KeyOf(const std::string& last_word) const {
    return absl::StrCat("tony.", type_.name, ".", last_word);
  }

  core::Tracking TrackingOf(const std::string& name) const {
    if (absl::c_linear_search(configuration_.GetList("tony.application.sidecar.jobtypes"), name)) {
      return core::Tracking::kSidecar;
    }
    if (absl::c_linear_search(configuration_.GetList("tony.application.untracked.jobtypes"),
                              name)) {
      return core::Tracking::kUntracked;
    }
    return core::Tracking::kTracked;
  }

  int Instances() {
    const std::string key = KeyOf("instances");
    // An invalid number counts as 1, so that no further problems follow from it.
    if (configuration_.IsSet(key) && CheckValue(*FindKey(key)->key, configuration_.GetText(key))) {
      return 1;
    }
    const int instances = static_cast<int>(configuration_.GetNumber(key));
    const bool sidecar = type_.name == kTensorBoard && type_.tracking == core::Tracking::kSidecar;
    if (!sidecar || (instances == 0 && configuration_.IsSet(key))) return instances;
    if (instances > 1) {
      result_.notes.push_back(
          ProblemAt(configuration_, key, "TensorBoard runs once; 1 is used", ""));
    }
    return 1;
  }

  core::RestartScope RestartScope() const {
    const std::string scope = absl::AsciiStrToLower(configuration_.GetText(KeyOf("restart-scope")));
    if (scope == "type") return core::RestartScope::kType;
    if (scope == "task") return core::RestartScope::kTask;
    return core::RestartScope::kJob;
  }

  std::string Command() {
    const std::string own = configuration_.GetText(KeyOf("command"));
    const std::string log_dir = configuration_.GetText(kLogDir);
    if (type_.name == kTensorBoard && !log_dir.empty()) {
      type_.env.try_emplace("TB_LOG_DIR", log_dir);
      if (own.empty()) return TensorBoardCommand();
    }
    if (!own.empty()) return own;
    const std::string common = configuration_.GetText("tony.containers.command");
    if (common.empty()) {
      result_.problems.push_back(
          ProblemAt(configuration_, KeyOf("instances"), "the type has no command",
                    absl::StrCat("set ", KeyOf("command"),
                                 " or tony.containers.command, or give --executes")));
    }
    return common;
  }

  // The shell in the task expands the variables: the port is known only there.
  std::string TensorBoardCommand() const {
    const std::string interpreter = InterpreterInTask(result_.packaging);
    return absl::StrCat(interpreter.empty() ? "python3" : interpreter,
                        " -m tensorboard.main --logdir \"$TB_LOG_DIR\" --port \"$TB_PORT\"");
  }

  void CheckMaximum() {
    const int64_t maximum = configuration_.GetNumber(KeyOf("max-instances"));
    if (maximum < 0 || type_.instances <= maximum) return;
    result_.problems.push_back(
        ProblemAt(configuration_, KeyOf("instances"),
                  absl::StrCat(type_.instances, " instances requested, which exceeds ",
                               KeyOf("max-instances"), " = ", maximum),
                  absl::StrCat("ask for ", maximum, " or fewer")));
  }

  const Configuration& configuration_;
  BuildResult& result_;
  core::TaskType type_;
};

// Collects the files of one task type and reports local names that are used twice. Not thread safe.
class FileCollector {
 public:
  FileCollector(const Configuration& configuration, BuildResult* result)
      : configuration_(configuration), result_(*result) {}

  void Add(const std::string& key) {
    const Entry* const entry = configuration_.Find(key);
    if (entry == nullptr) return;
    for (const Setting& setting : entry->settings) {
      for (const std::string& item : SplitList(setting.value)) {
        const auto file = ParseResource(item);
        if (file.ok()) AddFile(key, setting.origin, *file);  // CheckKeys() reports the others
      }
    }
  }

  std::vector<core::ResourceEntry> Finish() { return std::move(files_); }

 private:
  void AddFile(const std::string& key, const Origin& origin, const core::ResourceEntry& file) {
    if (file.local_name == "venv" && !result_.packaging.python_venv.empty()) {
      return Complain(key, origin, file, "the virtual environment");
    }
    // The same entry twice is harmless: a type may repeat a file of all containers.
    for (const core::ResourceEntry& other : files_) {
      if (other == file) return;
      if (other.local_name == file.local_name) return Complain(key, origin, file, other.source);
    }
    files_.push_back(file);
  }

  void Complain(const std::string& key, const Origin& origin, const core::ResourceEntry& file,
                const std::string& other) {
    const Problem problem{
        origin.file, origin.line, key,
        absl::StrCat(file.source, " and ", other, " have one local name, ", file.local_name),
        absl::StrCat("rename one: ", file.source, "::otherName")};
    // A clash within the files of all containers is found again for each type, but reported once.
    const auto& known = result_.problems;
    if (std::find(known.begin(), known.end(), problem) == known.end()) {
      result_.problems.push_back(problem);
    }
  }

  const Configuration& configuration_;
  BuildResult& result_;
  std::vector<core::ResourceEntry> files_;
};

}  // namespace

std::vector<core::ResourceEntry> BuildFiles(const Configuration& configuration,
                                            const std::string& owner, BuildResult* result) {
  FileCollector collector(configuration, result);
  collector.Add("tony.containers.resources");
  collector.Add(absl::StrCat("tony.", owner, ".resources"));
  return collector.Finish();
}

void BuildTaskTypes(const Configuration& configuration, BuildResult* result) {
  for (const std::string& name : DeclaredTaskTypes(configuration)) {
    core::TaskType type = TypeBuilder(configuration, name, result).Build();
    if (type.instances > 0) result->job.types.push_back(std::move(type));
  }
}

}  // namespace tony::jobfile
