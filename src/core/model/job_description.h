// The description of a job after its XML was merged and validated: plain data, produced by
// src/jobfile.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tony::core {

/// The resources that one container may use.
struct Resources {
  int64_t memory_mb = 0;  ///< MiB
  int vcores = 0;
  int gpus = 0;

  bool operator==(const Resources&) const = default;
};

/// The framework of a job: it decides which variables a task finds in its environment.
enum class Framework {
  kTensorFlow,  ///< TF_CONFIG, CLUSTER_SPEC
  kPyTorch,     ///< RANK, WORLD, INIT_METHOD, MASTER_ADDR, MASTER_PORT, WORLD_SIZE, LOCAL_RANK,
                ///< LOCAL_WORLD_SIZE
  kStandalone,  ///< no variables of its own; exactly one task
  kHorovod,     ///< HOROVOD_*, CLUSTER_SPEC; the task type `driver` plans the ranks
  kJax,         ///< JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES, JAX_PROCESS_ID
  kMxNet,       ///< DMLC_*; the task types scheduler, server and worker
};

/// When the program of a task may start.
enum class DistributedMode {
  kGang,             ///< when all tasks that start together have registered
  kFirstComeServed,  ///< when the task itself has registered; no task learns another's address
};

/// The way in which a task type counts towards the verdict.
enum class Tracking {
  kTracked,    ///< the job ends when all tracked tasks have ended
  kUntracked,  ///< not waited for; its failure fails the job (parameter servers)
  kSidecar,    ///< not waited for; its failure is ignored (TensorBoard); never in the cluster spec
};

/// One file, folder or archive that is placed in a task's working folder.
struct ResourceEntry {
  std::string source;      ///< path on the submitting machine, or a URI
  std::string local_name;  ///< name in the working folder
  bool archive = false;    ///< unpacked into a folder called local_name

  bool operator==(const ResourceEntry&) const = default;
};

/// The tasks that restart when a task fails.
enum class RestartScope {
  kJob,   ///< all tasks, as a new epoch with new ports
  kType,  ///< all tasks of the type, in their kept containers, at their old ports
  kTask,  ///< only the task, in its kept container, at its old ports
};

/// One group of like tasks, e.g. the workers.
struct TaskType {
  std::string name;
  int instances = 0;
  Resources resources;
  std::string command;                     ///< run as by `bash -c` in the working folder
  std::map<std::string, std::string> env;  ///< for the user's process
  std::vector<ResourceEntry> files;        ///< files of all containers, and of this type
  Tracking tracking = Tracking::kTracked;
  bool stop_on_failure = false;  ///< a failure ends the attempt even when failures are tolerated
  bool port_release = false;     ///< release reserved ports right before the program starts
  RestartScope restart_scope = RestartScope::kJob;
  std::vector<std::string> depends_on;  ///< types that come first; each once, all of this job

  bool operator==(const TaskType&) const = default;
};

/// The limit for a type to run on after a group of types has ended.
struct DependencyTimeout {
  std::string type;   ///< the type whose time is limited
  std::string group;  ///< name of the group, for sentences
  std::vector<std::string> group_types;
  std::chrono::milliseconds limit{0};  ///< from the end of the group's last task; zero: at once
  bool ignored = false;                ///< stop waiting for the type instead of failing

  bool operator==(const DependencyTimeout&) const = default;
};

/// The time limits of a job. Zero means "no limit" unless said otherwise.
struct Timeouts {
  std::chrono::milliseconds application{0};   ///< the whole job
  std::chrono::milliseconds allocation{0};    ///< a gang that has only some of its containers
  std::chrono::milliseconds gang_hold{0};     ///< until those are given back for a while
  std::chrono::milliseconds registration{0};  ///< from a granted container to a registered task
  std::chrono::milliseconds registry{
      0};  ///< an executor's own wait to be registered; it ends after it
  std::chrono::milliseconds execution{0};  ///< one run of the user's process
  std::chrono::milliseconds heartbeat_interval{1000};
  int max_missed_heartbeats = 25;
  /// For an executor to find a restarted ApplicationMaster and attach to it; afterwards it is lost.
  std::chrono::milliseconds reattach{10000};
  std::chrono::milliseconds client_lease{300000};  ///< of the owning client on a cluster
  std::chrono::milliseconds silence{300000};       ///< of a live ApplicationMaster
  std::chrono::milliseconds reconnect{3000};       ///< like `reattach`, after a broken stream
  std::chrono::milliseconds root_cause{500};       ///< for a victim's cause to be reported
  std::chrono::milliseconds waiting_notice{5000};  ///< before a wait for tasks is recorded
  std::chrono::milliseconds metrics_interval{5000};
  std::chrono::milliseconds kill_grace{5000};  ///< from SIGTERM to SIGKILL
  std::chrono::milliseconds shutdown{
      15000};  ///< executors' time to end after the verdict, beyond kill_grace
  std::chrono::milliseconds last_events{2000};     ///< for clients to read the last events
  std::chrono::milliseconds localization{600000};  ///< for another task to unpack what both need
  std::chrono::milliseconds container_kill{
      10000};  ///< from a container's kill by the backend to its end, beyond which it is given up

  bool operator==(const Timeouts&) const = default;
};

/// The limits for keeping the output of tasks. Sizes in MiB.
struct LogPolicy {
  int64_t rotate_mb = 256;          ///< size of one file
  int64_t stream_mb = 2048;         ///< size of one stream of one attempt
  int64_t job_mb = 65536;           ///< size of all tasks' logs together
  std::vector<std::string> redact;  ///< RE2 patterns of text that is not kept

  bool operator==(const LogPolicy&) const = default;
};

/// The task type that runs the rendezvous of a Horovod job. It has one task.
inline constexpr char kDriverType[] = "driver";
/// The task types whose tasks are Horovod's processes, in the order in which hosts are counted.
inline constexpr const char* kRankedTypes[] = {"chief", "worker"};
/// The ranked type whose tasks come and go in an elastic job.
inline constexpr char kElasticType[] = "worker";

/// The rules for an elastic Horovod job to shrink and grow.
struct ElasticSettings {
  int least = 1;   ///< processes that it needs to go on
  int first = 1;   ///< processes that it begins with; the number of tasks is the maximum
  int resets = 0;  ///< rounds after the first; 0: no limit
  /// How long enough processes may take to come, and those of a round to ask for the next one.
  std::chrono::milliseconds patience{600000};
  /// Pause before a process starts again on a host where one has failed; each further failure
  /// doubles it.
  std::chrono::milliseconds cooldown{1000};
  std::chrono::milliseconds cooldown_max{60000};

  bool operator==(const ElasticSettings&) const = default;
};

/// The settings of a Horovod job.
struct HorovodSettings {
  bool own_driver = false;  ///< the user's program answers the workers in place of tony-driver
  std::map<std::string, std::string> variables;  ///< HOROVOD_* of the processes, besides ranks
  std::string network_interfaces;  ///< separated by commas; empty: the one that reaches the others
  std::chrono::milliseconds driver_start{60000};  ///< for the driver to plan the ranks
  /// From the first process that looks for the others to the last one.
  std::chrono::milliseconds rendezvous{600000};
  std::optional<ElasticSettings> elastic;  ///< of the type `worker`; nullopt: not elastic

  bool operator==(const HorovodSettings&) const = default;
};

/// A whole job.
struct JobDescription {
  std::string name;
  Framework framework = Framework::kTensorFlow;
  DistributedMode mode = DistributedMode::kGang;
  std::vector<TaskType> types;  ///< in the order of the file; empty: the AM runs `am_command`
  Resources am_resources;
  bool preprocess = false;              ///< `am_command` runs before all tasks
  std::string am_command;               ///< for a job without tasks, or for preprocessing
  std::vector<ResourceEntry> am_files;  ///< those of all containers and of the AM, for am_command
  std::map<std::string, std::string> execution_env;  ///< for every user process
  std::map<std::string, std::string>
      container_env;                   ///< for the executors themselves, and their children
  bool fail_on_worker_failure = true;  ///< any tracked failure fails the attempt
  bool allows_exec = true;             ///< whether clients may run commands in tasks
  bool rdma = false;                   ///< tasks need a network adapter for RDMA
  std::string containment = "auto";    ///< way in which executors hold processes together
  int retry_count = 0;                 ///< restarts after failures of the user's program
  int infrastructure_retry_count = 3;  ///< restarts after the loss of a container or an executor
  std::chrono::milliseconds retry_backoff{1000};       ///< before the second restart; zero: none
  std::chrono::milliseconds retry_backoff_max{60000};  ///< upper limit of its doubling
  std::vector<DependencyTimeout> dependency_timeouts;  ///< no type is in its own group
  HorovodSettings horovod;
  Timeouts timeouts;
  LogPolicy logs;
  std::string progress_pattern;      ///< RE2, finds progress in the output; empty: none
  int error_message_max_depth = 20;  ///< lines of a failed task's output in the verdict
  std::string checkpoint_dir;        ///< empty: a folder of the job's own
  std::string program_archive;       ///< file name in the staging area; empty: none
  std::string venv_archive;          ///< file name in the staging area; empty: none
  std::string python_interpreter;    ///< as given by --python_binary_path; empty: none

  bool operator==(const JobDescription&) const = default;

  int64_t CountTasks() const {
    int64_t tasks = 0;
    for (const TaskType& type : types) tasks += type.instances;
    return tasks;
  }

  const TaskType* FindType(const std::string& type_name) const {
    for (const TaskType& type : types) {
      if (type.name == type_name) return &type;
    }
    return nullptr;
  }
};

}  // namespace tony::core
