// TonY's stages become dependencies first, so the rest of the program knows only `depends_on`.
// Mistakes in names stop the rule that uses them, since further messages would only repeat them.
#include "jobfile/job/job_order.h"

#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/nearest_name.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/schedule/stage_graph.h"
#include "jobfile/job/framework.h"
#include "jobfile/job/key_check.h"
#include "jobfile/keys/key_table.h"

namespace tony::jobfile {
namespace {

constexpr char kPrepare[] = "tony.application.prepare-stage";
constexpr char kTraining[] = "tony.application.training-stage";
constexpr char kGroup[] = "tony.application.group.<group>";
constexpr char kTimeout[] = "tony.application.dependency.<type>.timeout.after.<group>";
constexpr char kIgnored[] = ".ignored";

using Names = std::vector<std::string>;

// Adds `name` unless `names` has it already.
void AddOnce(Names& names, const std::string& name) {
  if (!absl::c_linear_search(names, name)) names.push_back(name);
}

// The steps for one job. Not thread safe.
class OrderBuilder {
 public:
  OrderBuilder(const Configuration& configuration, BuildResult* result)
      : configuration_(configuration),
        result_(*result),
        job_(result->job),
        declared_(DeclaredTaskTypes(configuration)) {}

  void Build() {
    for (core::TaskType& type : job_.types) {
      type.depends_on = TypesOf(absl::StrCat("tony.", type.name, ".depends-on"));
    }
    BuildStages();
    StartDriverWithProcesses();
    CheckCycle();
    // A file may define a group after the limit that uses it, so all groups come first.
    for (const Entry& entry : configuration_.entries()) BuildGroup(entry.key);
    for (const Entry& entry : configuration_.entries()) BuildTimeout(entry.key);
  }

 private:
  void Complain(const std::string& key, const std::string& message, const std::string& remedy) {
    result_.problems.push_back(ProblemAt(configuration_, key, message, remedy));
  }

  void Note(const std::string& key, const std::string& message) {
    result_.notes.push_back(ProblemAt(configuration_, key, message, ""));
  }

  void ComplainUnknown(const std::string& key, const std::string& name) {
    const auto nearest = NearestName(name, declared_);
    Complain(key, absl::StrCat("there is no task type '", name, "'"),
             nearest ? absl::StrCat("did you mean ", *nearest, "?")
                     : absl::StrCat("set tony.", name, ".instances or take it out"));
  }

  // Whether the job has tasks of the type. If not, adds a note when the type is set to no
  // instances, and a problem when it does not exist.
  bool HasTasks(const std::string& key, const std::string& type) {
    if (job_.FindType(type) != nullptr) return true;
    if (absl::c_linear_search(declared_, type)) {
      Note(key, absl::StrCat("there are no tasks of ", type, ", so nothing is waited for"));
    } else {
      ComplainUnknown(key, type);
    }
    return false;
  }

  // The types in the list `key` that have tasks in the job, each once.
  Names TypesOf(const std::string& key) {
    Names types;
    for (const std::string& name : configuration_.GetList(key)) {
      if (HasTasks(key, name)) AddOnce(types, name);
    }
    return types;
  }

  // The types that neither stage names. A sidecar and Horovod's driver belong to no stage, so they
  // are left out. Tells the user of a type that is in both stages.
  Names TypesOfNoStage(const Names& prepare, const Names& training) {
    Names missing;
    for (const core::TaskType& type : job_.types) {
      const bool prepares = absl::c_linear_search(prepare, type.name);
      const bool trains = absl::c_linear_search(training, type.name);
      if (prepares && trains) {
        Complain(kTraining, absl::StrCat("'", type.name, "' is in both stages"),
                 "name it in one of the two");
      } else if (!prepares && !trains && type.tracking != core::Tracking::kSidecar &&
                 !IsHorovodDriver(configuration_, type.name)) {
        missing.push_back(type.name);
      }
    }
    return missing;
  }

  void BuildStages() {
    const bool prepare_set = !configuration_.GetList(kPrepare).empty();
    const bool training_set = !configuration_.GetList(kTraining).empty();
    if (!prepare_set && !training_set) return;
    const size_t problems = result_.problems.size();
    Names prepare = TypesOf(kPrepare);
    Names training = TypesOf(kTraining);
    const Names missing = TypesOfNoStage(prepare, training);
    if (result_.problems.size() > problems) return;  // else a misspelt type is reported as missing
    if (!prepare_set) {
      prepare = missing;
    } else if (!training_set) {
      training = missing;
    } else if (!missing.empty()) {
      return Complain(kTraining,
                      absl::StrCat("no stage has ", absl::StrJoin(missing, ", "),
                                   "; together the two have to name every task type"),
                      absl::StrCat("add what is missing here or to ", kPrepare,
                                   ", or remove one of the two keys"));
    }
    for (core::TaskType& type : job_.types) {
      if (absl::c_linear_search(training, type.name)) DependOnTracked(prepare, &type);
    }
  }

  // Untracked types and sidecars are left out: the job does not wait for their end, and they may
  // serve the training stage.
  void DependOnTracked(const Names& stage, core::TaskType* type) {
    for (const std::string& name : stage) {
      if (job_.FindType(name)->tracking == core::Tracking::kTracked) {
        AddOnce(type->depends_on, name);
      }
    }
  }

  // The driver starts together with Horovod's processes: it plans their ranks when it knows their
  // hosts, and they wait for its plan. So it takes over their dependencies.
  void StartDriverWithProcesses() {
    for (core::TaskType& driver : job_.types) {
      if (!IsHorovodDriver(configuration_, driver.name)) continue;
      driver.depends_on.clear();
      for (const core::TaskType& type : job_.types) {
        if (!core::IsRanked(type.name)) continue;
        for (const std::string& name : type.depends_on) {
          if (name != driver.name) AddOnce(driver.depends_on, name);
        }
      }
    }
  }

  void CheckCycle() {
    const Names cycle = core::StageGraph::FindCycle(job_.types);
    if (cycle.empty()) return;
    // Stages alone cannot form a cycle, so at least one type in it has this key.
    std::string key;
    for (const std::string& type : cycle) {
      key = absl::StrCat("tony.", type, ".depends-on");
      if (configuration_.IsSet(key)) break;
    }
    Complain(
        key,
        absl::StrCat("the task types wait for each other: ", absl::StrJoin(cycle, " depends on ")),
        "take one of these dependencies out");
  }

  void BuildGroup(const std::string& key) {
    const std::optional<KeyMatch> match = FindKey(key);
    if (!match || match->key->name != kGroup) return;
    const Names words = absl::StrSplit(key, '.');
    groups_.emplace(words.back(), TypesOf(key));
  }

  void BuildTimeout(const std::string& key) {
    const std::optional<KeyMatch> match = FindKey(key);
    if (!match) return;
    if (match->key->name == absl::StrCat(kTimeout, kIgnored)) return CheckIgnored(key);
    if (match->key->name != kTimeout) return;
    const Names words = absl::StrSplit(key, '.');
    core::DependencyTimeout timeout;
    timeout.type = words[3];
    timeout.group = words.back();
    const auto group = groups_.find(timeout.group);
    if (group == groups_.end()) return ComplainNoGroup(key, timeout.group);
    if (!HasTasks(key, timeout.type)) return;
    timeout.group_types = group->second;
    if (absl::c_linear_search(timeout.group_types, timeout.type)) {
      return Complain(key,
                      absl::StrCat(timeout.type, " is in the group ", timeout.group,
                                   " itself, so it has ended when the group has"),
                      "take it out of the group, or remove this key");
    }
    timeout.limit = configuration_.GetDuration(key);
    timeout.ignored = configuration_.GetBoolean(absl::StrCat(key, kIgnored));
    // A group without tasks never ends, so its limit never applies.
    if (!timeout.group_types.empty()) job_.dependency_timeouts.push_back(std::move(timeout));
  }

  void ComplainNoGroup(const std::string& key, const std::string& group) {
    Names groups;
    for (const auto& [name, types] : groups_) groups.push_back(name);
    const auto nearest = NearestName(group, groups);
    Complain(key, absl::StrCat("there is no tony.application.group.", group),
             nearest ? absl::StrCat("did you mean the group ", *nearest, "?")
                     : "set it to the task types of the group");
  }

  void CheckIgnored(const std::string& key) {
    const std::string limit_key = key.substr(0, key.size() - (sizeof(kIgnored) - 1));
    if (configuration_.IsSet(limit_key)) return;
    Complain(key, absl::StrCat("there is no ", limit_key, ", so there is no limit to ignore"),
             "set that key, or remove this one");
  }

  const Configuration& configuration_;
  BuildResult& result_;
  core::JobDescription& job_;
  const Names declared_;
  std::map<std::string, Names> groups_;
};

}  // namespace

void BuildTaskOrder(const Configuration& configuration, BuildResult* result) {
  OrderBuilder(configuration, result).Build();
}

}  // namespace tony::jobfile
