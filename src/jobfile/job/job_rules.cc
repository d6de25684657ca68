// One function per rule. A problem is reported at the key that the user most likely has to change,
// which need not be the key that the rule is about.
#include "jobfile/job/job_rules.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/nearest_name.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/runtime/framework_variables.h"
#include "core/runtime/runtime.h"
#include "jobfile/job/horovod_rules.h"
#include "jobfile/job/image_rules.h"
#include "jobfile/job/key_check.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

constexpr char kFramework[] = "tony.application.framework";
constexpr char kUntracked[] = "tony.application.untracked.jobtypes";
constexpr char kSidecar[] = "tony.application.sidecar.jobtypes";
constexpr char kStopOnFailure[] = "tony.application.stop-on-failure-jobtypes";

// The rules for one job. Not thread safe.
class JobChecker {
 public:
  JobChecker(const Configuration& configuration, BuildResult* result)
      : configuration_(configuration),
        result_(*result),
        job_(result->job),
        declared_(DeclaredTaskTypes(configuration)) {}

  void Check() {
    if (job_.types.empty()) {
      CheckSingleContainer();
    } else {
      CheckMasterCommand();
      if (job_.framework != core::Framework::kHorovod) CheckSomethingIsTracked();
      CheckFrameworkTypes();
    }
    if (job_.framework == core::Framework::kHorovod) {
      CheckHorovodJob(configuration_, &result_);
    } else {
      CheckNothingIsElastic(configuration_, &result_);
      NoteUnusedHorovodKeys(configuration_, &result_);
    }
    for (const char* const key : {kUntracked, kSidecar, kStopOnFailure}) CheckTypeList(key);
    CheckListsAreDisjoint();
    CheckTotals();
    CheckImages(configuration_, &result_);
    if (result_.backend == Backend::kYarn) CheckOnYarn();
    if (result_.backend == Backend::kLauncher) CheckOnLauncher();
  }

 private:
  void Complain(const std::string& key, const std::string& message, const std::string& remedy) {
    result_.problems.push_back(ProblemAt(configuration_, key, message, remedy));
  }

  void CheckOnLauncher() {
    if (configuration_.GetText("tony.launcher.host").empty()) {
      Complain("tony.launcher.host", "is empty",
               "name the address of this machine at which the executors reach it");
    }
    if (result_.images.by_type.empty()) return;
    Complain("tony.docker.enabled", "has no effect where a launcher starts the executors",
             "let the launcher start them in images, and leave the key out");
  }

  void CheckSingleContainer() {
    if (job_.preprocess) {
      result_.notes.push_back(ProblemAt(configuration_, "tony.application.enable-preprocess",
                                        "has no effect in a job without tasks", ""));
    }
    if (!job_.am_command.empty()) return;
    result_.problems.push_back({configuration_.job_file(), 0, "", "the job has nothing to run",
                                "set tony.worker.instances and tony.worker.command, or for one "
                                "process tony.containers.command"});
  }

  // TonY ignores these keys silently where nothing preprocesses. A note keeps such a job file
  // usable.
  void CheckMasterCommand() {
    if (job_.preprocess) {
      if (!job_.am_command.empty()) return;
      return Complain("tony.application.enable-preprocess", "there is no command to run first",
                      "set tony.am.command, or tony.containers.command for it and the tasks");
    }
    for (const char* const key : {"tony.am.command", "tony.am.resources"}) {
      if (!configuration_.IsSet(key)) continue;
      result_.notes.push_back(
          ProblemAt(configuration_, key, "has no effect in a job that has tasks", ""));
    }
  }

  void CheckSomethingIsTracked() {
    const bool tracked = std::any_of(job_.types.begin(), job_.types.end(), [](const auto& type) {
      return type.tracking == core::Tracking::kTracked;
    });
    if (tracked) return;
    const bool sidecars_only =
        std::all_of(job_.types.begin(), job_.types.end(),
                    [](const auto& type) { return type.tracking == core::Tracking::kSidecar; });
    Complain(sidecars_only || !configuration_.IsSet(kUntracked) ? InstancesKey(job_.types.front())
                                                                : std::string(kUntracked),
             "no task type is tracked, so the job would never end",
             "add a tracked type such as tony.worker.instances, or take one out of the untracked "
             "and sidecar job types");
  }

  static std::string InstancesKey(const core::TaskType& type) {
    return absl::StrCat("tony.", type.name, ".instances");
  }

  void CheckFrameworkTypes() {
    if (job_.framework == core::Framework::kPyTorch && job_.FindType("worker") == nullptr) {
      ComplainNoWorker("a PyTorch job needs the task type worker");
    }
    const bool ranked =
        std::any_of(job_.types.begin(), job_.types.end(),
                    [](const core::TaskType& type) { return core::IsRanked(type.name); });
    if (job_.framework == core::Framework::kHorovod && !ranked) {
      ComplainNoWorker("a Horovod job needs the task type worker or chief");
    }
    if (job_.framework == core::Framework::kJax && !ranked) {
      ComplainNoWorker("a JAX job needs the task type worker or chief");
    }
    if (job_.framework == core::Framework::kMxNet) CheckMxNetTypes();
    CheckMode();
    if (job_.framework != core::Framework::kStandalone) return;
    const int64_t tasks = Total([](const core::TaskType& type) {
      return type.tracking == core::Tracking::kSidecar ? 0 : int64_t{1};
    });
    if (tasks == 1) return;
    Complain(kFramework,
             absl::StrCat("a standalone job has exactly one task, this one has ", tasks),
             "set one type's instances to 1 and all others to 0");
  }

  // MXNet's programs would wait for a missing one for ever, and know one scheduler only.
  void CheckMxNetTypes() {
    for (const char* const name : {core::kSchedulerType, core::kServerType, core::kWorkerType}) {
      const core::TaskType* const type = job_.FindType(name);
      const bool scheduler = std::string(name) == core::kSchedulerType;
      const std::string instances = absl::StrCat("tony.", name, ".instances");
      if (type == nullptr) {
        Complain(configuration_.IsSet(instances) ? instances : kFramework,
                 absl::StrCat("an MXNet job needs the task type ", name),
                 absl::StrCat("set ", instances, scheduler ? " to 1" : ""));
      } else if (scheduler && type->instances > 1) {
        Complain(instances, "an MXNet job has exactly one scheduler", "set it to 1");
      }
    }
  }

  // Those programs would look for each other at addresses that are not known yet.
  void CheckMode() {
    if (job_.mode == core::DistributedMode::kGang ||
        job_.framework == core::Framework::kTensorFlow ||
        job_.framework == core::Framework::kStandalone) {
      return;
    }
    Complain("tony.application.distributed-mode",
             absl::StrCat("with FCFS a task starts before the others have addresses, which the "
                          "tasks of a ",
                          core::FrameworkName(job_.framework), " job need"),
             "set it to GANG; tasks that need no addresses can have tony.application.framework "
             "tensorflow, and find TASK_INDEX and TASK_NUM");
  }

  void ComplainNoWorker(const std::string& message) {
    std::vector<std::string> others = declared_;
    std::erase_if(others, [](const std::string& name) {
      return name == "worker" || name == core::kDriverType;
    });
    // If the key is set to 0, its line is the one to change.
    const std::string instances = "tony.worker.instances";
    if (configuration_.IsSet(instances)) {
      return Complain(instances, message, "set it to 1 or more");
    }
    const auto nearest = NearestName("worker", others);
    Complain(kFramework, message,
             nearest ? absl::StrCat("did you mean tony.worker.instances where tony.", *nearest,
                                    ".instances is set?")
                     : "set tony.worker.instances");
  }

  // Only a list that the job's owner has written must fit the job. A site's lists are for all jobs,
  // and so are TonY's defaults, which may name types that this job lacks.
  void CheckTypeList(const std::string& key) {
    const Entry* const entry = configuration_.Find(key);
    if (entry == nullptr || entry->settings.back().origin.layer <= Layer::kSiteFile) return;
    const std::vector<std::string> defaults = SplitList(FindKey(key)->key->default_value);
    for (const std::string& name : SplitList(entry->Value())) {
      if (absl::c_linear_search(declared_, name) || absl::c_linear_search(defaults, name)) continue;
      const auto nearest = NearestName(name, declared_);
      Complain(key, absl::StrCat("there is no task type '", name, "'"),
               nearest ? absl::StrCat("did you mean ", *nearest, "?")
                       : absl::StrCat("set tony.", name, ".instances or take it out"));
    }
  }

  void CheckListsAreDisjoint() {
    const std::vector<std::string> sidecars = configuration_.GetList(kSidecar);
    for (const std::string& name : configuration_.GetList(kUntracked)) {
      if (!absl::c_linear_search(sidecars, name)) continue;
      Complain(configuration_.IsSet(kSidecar) ? kSidecar : kUntracked,
               absl::StrCat("'", name, "' is both an untracked and a sidecar type"),
               "name it in one of the two lists");
    }
  }

  // The sum of `amount` over all tasks.
  int64_t Total(const std::function<int64_t(const core::TaskType&)>& amount) const {
    int64_t total = 0;
    for (const core::TaskType& type : job_.types) total += type.instances * amount(type);
    return total;
  }

  void CheckTotals() {
    const int64_t tasks = Total([](const core::TaskType&) { return int64_t{1}; });
    if (tasks > kMaxTasks) {
      Complain(LargestTypeKey(),
               absl::StrCat("the job has ", tasks, " tasks, more than ", kMaxTasks),
               "ask for fewer");
    }
    CheckLimit("tony.task.max-total-instances", "tasks", tasks);
    CheckLimit("tony.task.max-total-memory", "MiB of memory",
               Total([](const core::TaskType& type) { return type.resources.memory_mb; }));
    CheckLimit("tony.task.max-total-vcores", "vcores",
               Total([](const core::TaskType& type) { return int64_t{type.resources.vcores}; }));
    CheckLimit("tony.task.max-total-gpus", "gpus",
               Total([](const core::TaskType& type) { return int64_t{type.resources.gpus}; }));
  }

  std::string LargestTypeKey() const {
    return InstancesKey(*std::max_element(
        job_.types.begin(), job_.types.end(),
        [](const auto& left, const auto& right) { return left.instances < right.instances; }));
  }

  // A negative limit is "no limit". CheckKeys() reports an invalid one.
  void CheckLimit(const std::string& key, const std::string& unit, int64_t requested) {
    if (!configuration_.IsSet(key)) return;
    const std::string text = configuration_.GetText(key);
    const auto limit = FindKey(key)->key->type == ValueType::kMemory ? ParseMemoryMb(text)
                                                                     : ParseWholeNumber(text);
    if (!limit || *limit < 0 || requested <= *limit) return;
    Complain(key, absl::StrCat("amount of ", unit, " requested, ", requested, ", exceeds ", *limit),
             "ask for less in instances or in each task");
  }

  void CheckOnYarn() {
    CheckYarnResources();
    for (const auto& [type, label] : result_.yarn.node_labels) CheckLabel(type, label);
  }

  // YARN's scheduler looks for a node label only in constraints of one part.
  void CheckLabel(const std::string& type, const std::string& label) {
    const auto placement = result_.yarn.placements.find(type);
    if (placement == result_.yarn.placements.end()) return;
    const std::optional<PlacementConstraint>& constraint = placement->second.constraint;
    if (!constraint.has_value() || constraint->parts.empty()) return;
    const std::string own = absl::StrCat("tony.", type, ".node-label");
    Complain(configuration_.IsSet(own) ? own : "tony.application.node-label",
             absl::StrCat("YARN cannot place ", type, " on nodes of the label ", label,
                          " and by a constraint of several parts, ", FormatPlacement(*constraint)),
             "leave one of the two out, or all but one of the parts");
  }

  // The request would contain the same resource twice, and YARN would silently take the last one.
  void CheckYarnResources() {
    for (const auto& [type, amounts] : result_.yarn.other_resources) {
      for (const auto& [name, amount] : amounts) {
        std::string own_key;
        if (name == result_.yarn.gpu_resource) own_key = "gpus";
        if (name == "memory-mb" || name == "memory") own_key = "memory";
        if (name == "vcores") own_key = "vcores";
        if (own_key.empty()) continue;
        Complain(absl::StrCat("tony.", type, ".yarn-resources"),
                 absl::StrCat(name, " has a key of its own"),
                 absl::StrCat("set tony.", type, ".", own_key));
      }
    }
  }

  const Configuration& configuration_;
  BuildResult& result_;
  const core::JobDescription& job_;
  const std::vector<std::string> declared_;
};

}  // namespace

void CheckJob(const Configuration& configuration, BuildResult* result) {
  JobChecker(configuration, result).Check();
}

}  // namespace tony::jobfile
