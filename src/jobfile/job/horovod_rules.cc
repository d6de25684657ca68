// One function per rule. A combination is a problem if the job could only hang or fail with it, and
// a note if a key merely has no effect.
#include "jobfile/job/horovod_rules.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/rendezvous/worker_hosts.h"
#include "core/runtime/runtime.h"
#include "jobfile/job/framework.h"
#include "jobfile/job/key_check.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

constexpr char kPrefix[] = "tony.horovod.";
constexpr char kDebug[] = "tony.horovod.driver.mode.debug";
constexpr char kGlooTimeout[] = "tony.horovod.gloo-timeout-sec";
constexpr char kRendezvousTimeout[] = "tony.horovod.rendezvous-timeout-ms";
constexpr char kUntracked[] = "tony.application.untracked.jobtypes";
constexpr char kSidecar[] = "tony.application.sidecar.jobtypes";
constexpr char kFailOnWorkerFailure[] = "tony.application.fail-on-worker-failure-enabled";
constexpr char kMinInstances[] = "min-instances";
constexpr char kDriverInstances[] = "tony.driver.instances";
constexpr char kDriverCommand[] = "tony.driver.command";

std::string KeyOf(const std::string& type, const std::string& last_word) {
  return absl::StrCat("tony.", type, ".", last_word);
}

// Whether the site file has set the key. It is for all jobs, so it need not fit this one.
bool IsForAllJobs(const Entry& entry) {
  return entry.settings.back().origin.layer <= Layer::kSiteFile;
}

// Whether Linux accepts `name` for a network device (dev_valid_name in the kernel).
bool IsInterfaceName(const std::string& name) {
  constexpr size_t kLongest = 15;
  return name.size() <= kLongest && name != "." && name != ".." &&
         name.find_first_of("/: \t") == std::string::npos;
}

// The rules for one job. Not thread safe.
class HorovodChecker {
 public:
  HorovodChecker(const Configuration& configuration, BuildResult* result)
      : configuration_(configuration), result_(*result), job_(result->job) {}

  void Check() {
    for (const core::TaskType& type : job_.types) {
      if (core::IsRanked(type.name)) {
        CheckIsTracked(type);
        CheckDependsOnNoDriver(type);
        CheckRestartScope(type);
      } else if (type.name == core::kDriverType) {
        CheckRestartScope(type);
      } else if (type.tracking != core::Tracking::kSidecar) {
        // A user may take another type, such as ps, for one of Horovod's processes. Nobody expects
        // that of a sidecar.
        Note(KeyOf(type.name, "instances"),
             absl::StrCat(type.name, " gets no ranks: Horovod's processes are chief and worker"));
      }
    }
    CheckStartTogether();
    CheckDriver();
    CheckElastic();
    CheckTimeouts();
    CheckStallTimes();
    CheckNames();
    NoteFailuresThatCount();
    NoteSettingsWithoutEffect();
  }

 private:
  void Complain(const std::string& key, const std::string& message, const std::string& remedy) {
    result_.problems.push_back(ProblemAt(configuration_, key, message, remedy));
  }

  void Note(const std::string& key, const std::string& message) {
    result_.notes.push_back(ProblemAt(configuration_, key, message, ""));
  }

  void CheckIsTracked(const core::TaskType& type) {
    if (type.tracking == core::Tracking::kTracked) return;
    Complain(type.tracking == core::Tracking::kSidecar ? kSidecar : kUntracked,
             absl::StrCat("'", type.name, "' are Horovod's processes, for which the job waits"),
             "take it out");
  }

  void CheckDependsOnNoDriver(const core::TaskType& type) {
    if (!absl::c_linear_search(type.depends_on, core::kDriverType)) return;
    Complain(KeyOf(type.name, "depends-on"),
             "the driver starts when it knows the hosts of all processes, so they cannot wait for "
             "it",
             "take it out; no process begins before it has a rank");
  }

  // A Gloo context has a fixed set of connections: a process that starts again cannot join the
  // context of those that go on.
  void CheckRestartScope(const core::TaskType& type) {
    if (type.restart_scope == core::RestartScope::kJob) return;
    Complain(KeyOf(type.name, "restart-scope"),
             "Horovod's processes cannot take back one that has left them, so all begin anew, from "
             "the last checkpoint",
             "remove it or set it to job");
  }

  // A process blocks in the rendezvous until all have come. With different dependencies, one type
  // would wait there, holding its containers, for a type that starts much later or never.
  void CheckStartTogether() {
    const core::TaskType* const chief = job_.FindType("chief");
    const core::TaskType* const worker = job_.FindType("worker");
    if (chief == nullptr || worker == nullptr) return;
    const auto names = [](const core::TaskType& type) {
      return std::set<std::string>(type.depends_on.begin(), type.depends_on.end());
    };
    if (names(*chief) == names(*worker)) return;
    // The problem names the most specific key that is set.
    std::string key;
    for (const char* const candidate :
         {"tony.worker.depends-on", "tony.chief.depends-on", "tony.application.training-stage",
          "tony.application.prepare-stage"}) {
      key = candidate;
      if (configuration_.IsSet(key)) break;
    }
    Complain(key,
             "chief and worker wait for different types, and Horovod's processes begin together",
             "let both wait for the same ones");
  }

  // The task type of tony's own driver ignores most keys. Each one that is set is a problem, since
  // the user then expects a driver of their own.
  void CheckDriver() {
    if (absl::c_linear_search(configuration_.GetList(kSidecar), core::kDriverType)) {
      Complain(kSidecar, "'driver' cannot be a sidecar: without it no process has a rank",
               "take it out");
    }
    if (!configuration_.GetList("tony.driver.depends-on").empty()) {
      Complain("tony.driver.depends-on",
               "the driver waits for what Horovod's processes wait for, by itself", "remove it");
    }
    if (job_.horovod.own_driver) return CheckUsersDriver();
    const std::string remedy =
        absl::StrCat("remove it, or set ", kDebug, "=true to bring a driver of your own");
    // An unset or invalid number counts as 1; CheckKeys() reports the latter.
    const auto instances = configuration_.IsSet(kDriverInstances)
                               ? ParseWholeNumber(configuration_.GetText(kDriverInstances))
                               : std::nullopt;
    if (instances.value_or(1) != 1)
      Complain(kDriverInstances, "a Horovod job has one driver, which is tony's", remedy);
    for (const char* const word : {"command", "env", "resources"}) {
      const std::string key = KeyOf(core::kDriverType, word);
      if (!configuration_.GetText(key).empty()) {
        Complain(key, "tony's own driver has no use for it", remedy);
      }
    }
    if (configuration_.GetNumber("tony.driver.gpus") > 0) {
      Complain("tony.driver.gpus", "tony's own driver has no use for GPUs", remedy);
    }
    if (configuration_.GetBoolean("tony.driver.port-release")) {
      Complain("tony.driver.port-release", "tony's own driver has no use for it", remedy);
    }
  }

  void CheckUsersDriver() {
    if (configuration_.GetNumber(kDriverInstances) != 1) {
      Complain(configuration_.IsSet(kDriverInstances) ? kDriverInstances : kDebug,
               "a driver of your own is one task", absl::StrCat("set ", kDriverInstances, "=1"));
    }
    // The default, tony.containers.command, does not count: it is the training program.
    if (configuration_.GetText(kDriverCommand).empty()) {
      Complain(kDebug, "the job's own driver has no command", absl::StrCat("set ", kDriverCommand));
    }
  }

  // Only tony's own driver watches the rendezvous, so with a user's driver its timeout has no
  // effect, and Gloo's timeout is the only one that ends a failed rendezvous.
  void NoteUnwatched() {
    if (configuration_.IsSet(kRendezvousTimeout)) {
      result_.notes.push_back(ProblemAt(configuration_, kRendezvousTimeout,
                                        "has no effect with a driver of the job's own; processes "
                                        "give up after tony.horovod.gloo-timeout-sec",
                                        ""));
    }
    if (configuration_.GetDuration(kGlooTimeout).count() > 0) return;
    Complain(kGlooTimeout,
             "with a driver of the job's own nobody else ends a rendezvous that fails",
             "set the seconds after which a process gives up");
  }

  // Gloo's timeout must not end before the rendezvous timeout: a process that gives up earlier than
  // the driver would be taken for the cause of the failure.
  void CheckTimeouts() {
    if (job_.horovod.elastic) return;  // processes give up early and begin another round
    if (job_.horovod.own_driver) return NoteUnwatched();
    const auto gloo = configuration_.GetDuration(kGlooTimeout);
    if (gloo.count() == 0 || gloo >= job_.horovod.rendezvous) return;
    const int64_t seconds = (job_.horovod.rendezvous.count() + 999) / 1000;
    Complain(configuration_.IsSet(kGlooTimeout) ? kGlooTimeout : kRendezvousTimeout,
             absl::StrCat("a process would give up after ", kGlooTimeout, ", ", gloo.count() / 1000,
                          " s, while the others still have the time of ", kRendezvousTimeout, ", ",
                          job_.horovod.rendezvous.count(), " ms"),
             absl::StrCat("set ", kGlooTimeout, " to ", seconds, " or more, or to 0, or ",
                          kRendezvousTimeout, " to ", gloo.count(), " or less"));
  }

  void CheckElastic() {
    for (const core::TaskType& type : job_.types) {
      const std::string key = KeyOf(type.name, kMinInstances);
      if (type.name == core::kElasticType || configuration_.GetNumber(key) < 0) continue;
      Complain(key,
               absl::StrCat("only ", core::kElasticType, " can shrink and grow, not ", type.name),
               "remove it");
    }
    if (!configuration_.IsSet(KeyOf(core::kElasticType, kMinInstances)) ||
        job_.FindType(core::kElasticType) == nullptr) {
      return;
    }
    const std::string key = KeyOf(core::kElasticType, kMinInstances);
    const int64_t least = configuration_.GetNumber(key);
    const int64_t first = configuration_.GetNumber(KeyOf(core::kElasticType, "instances"));
    if (least == 0) Complain(key, "a job without processes does nothing", "set it to 1 or more");
    if (least > first) {
      Complain(key, absl::StrCat(least, " is more than the ", first, " with which the job begins"),
               absl::StrCat("set it to ", first, " or less"));
    }
    if (least > 0 && job_.FindType("chief") != nullptr) {
      Complain(key, "an elastic job has no chief, whose loss it could not survive",
               "make the chief one of the workers");
    }
    if (least > 0 && job_.horovod.own_driver) {
      Complain(key, "only tony's own driver runs elastic jobs", absl::StrCat("remove ", kDebug));
    }
  }

  void CheckStallTimes() {
    const std::string key = absl::StrCat(kPrefix, "stall-check-shutdown-time-seconds");
    const int64_t shutdown = configuration_.GetNumber(key);
    if (shutdown == 0) return;
    const int64_t warning =
        configuration_.GetNumber(absl::StrCat(kPrefix, "stall-check-warning-time-seconds"));
    if (!configuration_.GetBoolean(absl::StrCat(kPrefix, "stall-check"))) {
      Complain(key, "nothing is found to stall without tony.horovod.stall-check",
               "remove one of the two");
    } else if (shutdown <= warning) {
      Complain(key,
               absl::StrCat("Horovod ignores ", shutdown,
                            " s, which is not more than the time to its warning, ", warning, " s"),
               absl::StrCat("set it to more than ", warning,
                            ", or tony.horovod.stall-check-warning-time-seconds to less"));
    }
  }

  void CheckNames() {
    const std::string interfaces = absl::StrCat(kPrefix, "network-interfaces");
    for (const std::string& name : configuration_.GetList(interfaces)) {
      if (IsInterfaceName(name)) continue;
      Complain(interfaces, absl::StrCat("'", name, "' is no name of a network interface"),
               "write names as `ip link` shows them, divided by commas");
    }
    const std::string cores = absl::StrCat(kPrefix, "thread-affinity");
    for (const std::string& core : configuration_.GetList(cores)) {
      if (ParseWholeNumber(core).value_or(-1) >= 0) continue;
      Complain(cores, absl::StrCat("'", core, "' is no number of a processor core"),
               "write one number for each process of a host, divided by commas");
    }
  }

  // The neighbours of a failed process fail in their next collective operation.
  void NoteFailuresThatCount() {
    if (job_.fail_on_worker_failure) return;
    Note(kFailOnWorkerFailure,
         "has hardly any effect in a Horovod job: with a process fail those that work with it");
  }

  void NoteSettingsWithoutEffect() {
    for (const char* const word : {"hierarchical-allreduce", "hierarchical-allgather"}) {
      const std::string key = absl::StrCat(kPrefix, word);
      if (configuration_.GetBoolean(key)) {
        Note(key, "has no effect: Horovod does this by MPI, and the job's processes use Gloo");
      }
    }
    if (!configuration_.GetBoolean("tony.horovod.autotune")) {
      for (const Entry& entry : configuration_.entries()) {
        if (!absl::StartsWith(entry.key, "tony.horovod.autotune-")) continue;
        Note(entry.key, "has no effect without tony.horovod.autotune=true");
      }
    }
    if (!job_.horovod.elastic) {
      for (const char* const word :
           {"elastic-timeout-sec", "reset-limit", "host-cooldown-ms", "host-cooldown-max-ms"}) {
        const std::string key = absl::StrCat(kPrefix, word);
        if (!configuration_.IsSet(key) || IsForAllJobs(*configuration_.Find(key))) continue;
        Note(key, absl::StrCat("has no effect without ", KeyOf(core::kElasticType, kMinInstances)));
      }
    }
    if (configuration_.GetBoolean("tony.horovod.timeline-mark-cycles") &&
        configuration_.GetText("tony.horovod.timeline-filename").empty()) {
      Note("tony.horovod.timeline-mark-cycles",
           "has no effect without tony.horovod.timeline-filename");
    }
  }

  const Configuration& configuration_;
  BuildResult& result_;
  const core::JobDescription& job_;
};

}  // namespace

void CheckHorovodJob(const Configuration& configuration, BuildResult* result) {
  HorovodChecker(configuration, result).Check();
}

void CheckNothingIsElastic(const Configuration& configuration, BuildResult* result) {
  for (const core::TaskType& type : result->job.types) {
    const std::string key = KeyOf(type.name, kMinInstances);
    const Entry* const entry = configuration.Find(key);
    if (entry == nullptr || IsForAllJobs(*entry) || configuration.GetNumber(key) < 0) continue;
    result->problems.push_back(ProblemAt(configuration, key,
                                         "only Horovod jobs can shrink and grow",
                                         "remove it, or set tony.application.framework=horovod"));
  }
}

// A value equal to the default gets no note, since without effect it changes nothing either.
void NoteUnusedHorovodKeys(const Configuration& configuration, BuildResult* result) {
  for (const Entry& entry : configuration.entries()) {
    if (!absl::StartsWith(entry.key, kPrefix)) continue;
    const auto match = FindKey(entry.key);
    if (!match || match->key->status != KeyStatus::kWorks || IsForAllJobs(entry)) continue;
    if (absl::EqualsIgnoreCase(entry.Value(), match->key->default_value)) continue;
    result->notes.push_back(ProblemAt(configuration, entry.key,
                                      absl::StrCat("has no effect in a job of the framework ",
                                                   core::FrameworkName(result->job.framework)),
                                      ""));
  }
}

}  // namespace tony::jobfile
