// Keys of the application as a whole: its name and framework, its program, its outcome, time limits
// and retries.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

KeyGroup ApplicationKeys() {
  KeyGroup group;
  group.title = "Application";
  group.introduction = "Name, backend and framework of the job.";
  group.keys = {
      {.name = "tony.application.name",
       .meaning =
           "The job's name in lists and pages. Unless set: the name of the job file's folder, "
           "or of the file itself if that is neither `job.xml` nor `tony.xml`; without a job "
           "file the name of the script or program that the command runs."},
      {.name = "tony.backend",
       .type = ValueType::kChoice,
       .default_value = "local",
       .choices = {"local", "yarn", "launcher"},
       .meaning =
           "Where the job runs: on this machine, on a Hadoop cluster, or where the program that "
           "starts `tony-submit` starts executors, as Spark's driver does "
           "([design](design/launcher.md)). "
           "`--backend` sets it for one submission, the site file for all."},
      {.name = "tony.launcher.host",
       .default_value = "127.0.0.1",
       .status = KeyStatus::kOneBackend,
       .reason = "launcher",
       .meaning = "The address of this machine at which the executors reach the ApplicationMaster. "
                  "At 127.0.0.1 only programs of the same user may connect; at another address "
                  "certificates alone decide."},
      {.name = "tony.application.rdma",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning =
           "Whether the tasks need a network adapter for RDMA (InfiniBand, RoCE). A task on a "
           "machine without an active one fails with the reason; the others get variables that "
           "let NCCL and UCX use it ([rdma.md](rdma.md))."},
      {.name = "tony.application.type",
       .default_value = "TONY",
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "The application type under which YARN lists the job."},
      {.name = "tony.application.tags",
       .type = ValueType::kList,
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "Tags of the application in YARN's lists."},
      {.name = "tony.application.framework",
       .type = ValueType::kChoice,
       .default_value = "tensorflow",
       .choices = {"tensorflow", "pytorch", "standalone", "horovod", "jax", "mxnet"},
       .meaning =
           "The framework, which decides which environment variables tasks receive. `pytorch` "
           "needs the type `worker`, `standalone` exactly one task, `horovod` "
           "([horovod.md](horovod.md)) and `jax` ([jax.md](frameworks/jax.md)) the type `worker` "
           "or `chief`, `mxnet` the types `scheduler`, `server` and `worker` "
           "([mxnet.md](frameworks/mxnet.md))."},
  };
  return group;
}

KeyGroup ProgramKeys() {
  KeyGroup group;
  group.title = "Program";
  group.introduction = "The program and the files that the job brings along.";
  group.keys = {
      {.name = "tony.application.src-dir",
       .type = ValueType::kExistingPath,
       .meaning = "The program: a folder or an archive (zip, tar, tar.gz), unpacked into each "
                  "task's working folder."},
      {.name = "tony.application.python-venv",
       .type = ValueType::kExistingPath,
       .meaning = "A virtual environment, as a folder or zip. Tasks find it as `venv` in their "
                  "working folder."},
      {.name = "tony.application.python-binary-path",
       .meaning = "The interpreter: an absolute path, or a path inside the virtual environment."},
      {.name = "tony.python-exec-path",
       .meaning = "Same as `tony.application.python-binary-path`, which wins if both are set."},
      {.name = "tony.application.checkpoint-dir",
       .type = ValueType::kLocation,
       .meaning =
           "Folder for the program's checkpoints, passed to it as `TONY_CHECKPOINT_DIR`; by "
           "default a folder of the job's own. It outlives restarts. The local backend makes it "
           "at the submission, with its parents, and locks it: while a job of this machine "
           "runs or waits, another one that names the folder is refused, also another "
           "user's. Jobs of other machines are not seen, on a network file system either."},
      {.name = "tony.application.checkpoint-dir-shared",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning = "Whether several jobs may have the same `tony.application.checkpoint-dir` at the "
                  "same time. The folder is not locked then, and the lock of another job does not "
                  "matter."},
      {.name = "tony.application.tensorboard-log-dir",
       .type = ValueType::kLocation,
       .meaning = "Runs TensorBoard on this folder: a sidecar of the type `tensorboard`, which "
                  "receives the folder as `TB_LOG_DIR`."},
      {.name = "tony.application.log.max-size",
       .type = ValueType::kMemory,
       .default_value = "64g",
       .minimum = 1,
       .meaning = "Limit on the size of all logs of the job's tasks together. It is divided evenly "
                  "among tasks, their attempts (the first, `tony.am.retry-count` and "
                  "`tony.am.infrastructure-retry-count` more) and the two "
                  "streams; each share is at least 1 MiB."},
      {.name = "tony.application.log-level",
       .type = ValueType::kChoice,
       .default_value = "info",
       .choices = {"debug", "info", "warning", "error"},
       .meaning =
           "The lowest level of the lines that tony's own programs (ApplicationMaster, executors, "
           "Horovod's driver) write into their logs. `--debug` sets `debug` for one submission."},
      {.name = "tony.execution.envs",
       .type = ValueType::kKeyValues,
       .appends = true,
       .meaning = "Environment variables of every user process."},
  };
  return group;
}

KeyGroup OutcomeKeys() {
  KeyGroup group;
  group.title = "Success and failure";
  group.introduction = "Which tasks count towards the verdict.";
  group.keys = {
      {.name = "tony.application.untracked.jobtypes",
       .type = ValueType::kList,
       .default_value = "ps",
       .meaning = "Task types that the job does not wait for; their failure fails the job."},
      {.name = "tony.application.sidecar.jobtypes",
       .type = ValueType::kList,
       .default_value = "tensorboard",
       .meaning =
           "Task types that the job does not wait for; their failure is ignored and they are "
           "not part of the cluster spec."},
      {.name = "tony.application.stop-on-failure-jobtypes",
       .type = ValueType::kList,
       .default_value = "ps",
       .meaning = "Task types whose failure ends the attempt even where failures are tolerated."},
      {.name = "tony.application.fail-on-worker-failure-enabled",
       .type = ValueType::kBoolean,
       .default_value = "true",
       .meaning = "Any failed tracked task fails the attempt. TonY's default is `false`; here it "
                  "is `true`. With `false`, TonY's rule applies: the job succeeds unless the "
                  "chief, a stop-on-failure task or all tracked tasks failed."},
  };
  return group;
}

KeyGroup TimeLimitKeys() {
  KeyGroup group;
  group.title = "Time limits";
  group.introduction =
      "Time limits of the job and its containers. Zero and -1 mean \"no limit\". The limits of "
      "executors are among their keys below.";
  group.keys = {
      {.name = "tony.application.timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "0",
       .minimum = -1,
       .meaning = "Time limit of the whole job."},
      {.name = "tony.container.allocation.timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "0",
       .minimum = -1,
       .meaning =
           "How long a job may hold only some of its containers while it waits for the rest."},
      {.name = "tony.container.hold-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "120000",
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "A job that holds only some of the containers with which it starts gives them "
                  "back after this time, so that no two jobs hold what the other one needs. It "
                  "waits a little and requests all of them again. A job that has waited longer "
                  "holds them longer, up to twice this time. 0: for ever."},
      {.name = "tony.container.registration.timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "900000",
       .minimum = -1,
       .meaning = "How long a granted container may take until its task has registered."},
      {.name = "tony.container.kill.timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long a killed container may take to be gone. After that its task gets "
                  "another container, and the end of the job does not wait for it."},
  };
  return group;
}

KeyGroup RetryKeys() {
  KeyGroup group;
  group.title = "Retries";
  group.introduction = "How often and when a job starts again from its last checkpoint.";
  group.keys = {
      {.name = "tony.am.retry-count",
       .type = ValueType::kCount,
       .default_value = "0",
       .meaning = "Number of restarts after failures of the program: an exit code other than 0, a "
                  "signal, a program that cannot be started or that exceeds its time limit."},
      {.name = "tony.am.infrastructure-retry-count",
       .type = ValueType::kCount,
       .default_value = "3",
       .meaning =
           "Number of restarts after the loss of containers and executors: processes of tony that "
           "end, lost heartbeats, late registrations. It is separate from `tony.am.retry-count` "
           "and not 0 by default, since a lost machine is not the program's fault."},
      {.name = "tony.am.retry-backoff-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "1000",
       .meaning = "Delay of the second restart in a row; each further one waits twice as long. The "
                  "first restart has no delay. 0: none has."},
      {.name = "tony.am.retry-backoff-max-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "60000",
       .meaning = "The longest delay of a restart. Tasks that ran for longer than this end the "
                  "row: the next restart has no delay."},
  };
  return group;
}

}  // namespace tony::jobfile
