// Keys of the application as a whole: its name and framework, its program, its outcome, time limits
// and retries.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

KeyGroup ApplicationKeys() {
  KeyGroup group;
  group.title = "Application";
  group.introduction = "What the job is.";
  group.keys = {
      {.name = "tony.application.name",
       .default_value = "TonyApplication",
       .meaning = "The job's name in lists and pages."},
      {.name = "tony.backend",
       .type = ValueType::kChoice,
       .default_value = "local",
       .choices = {"local", "yarn"},
       .meaning =
           "Where the job runs: on this machine, or on a Hadoop cluster. `--backend` sets it "
           "for one submission, the site file for all."},
      {.name = "tony.application.type",
       .default_value = "TONY",
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "The application's type, by which YARN lists it."},
      {.name = "tony.application.tags",
       .type = ValueType::kList,
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "Words to find the job by in YARN's lists."},
      {.name = "tony.application.framework",
       .type = ValueType::kChoice,
       .default_value = "tensorflow",
       .choices = {"tensorflow", "pytorch", "standalone", "horovod", "mxnet"},
       .meaning = "Decides which variables a task finds in its environment. `pytorch` needs the "
                  "type `worker`, `standalone` exactly one task, `horovod` the type `worker` or "
                  "`chief` ([horovod.md](horovod.md)). `mxnet` is not supported by this version."},
  };
  return group;
}

KeyGroup ProgramKeys() {
  KeyGroup group;
  group.title = "Program";
  group.introduction = "What the job brings along for its tasks to run.";
  group.keys = {
      {.name = "tony.application.src-dir",
       .type = ValueType::kExistingPath,
       .meaning = "The program: a folder or an archive (zip, tar, tar.gz), unpacked into each "
                  "task's working folder."},
      {.name = "tony.application.python-venv",
       .type = ValueType::kExistingPath,
       .meaning = "A virtual environment, as a folder or zip, found as `venv` in each task's "
                  "working folder."},
      {.name = "tony.application.python-binary-path",
       .meaning = "The interpreter: an absolute path, or a path inside the virtual environment."},
      {.name = "tony.python-exec-path",
       .meaning = "As `tony.application.python-binary-path`, which wins where both are set."},
      {.name = "tony.application.checkpoint-dir",
       .type = ValueType::kLocation,
       .meaning =
           "Where the program keeps its checkpoints, told to it as `TONY_CHECKPOINT_DIR`; by "
           "default a folder of the job's own. It outlives restarts."},
      {.name = "tony.application.tensorboard-log-dir",
       .type = ValueType::kLocation,
       .meaning = "Runs TensorBoard on this folder, as a sidecar of the type `tensorboard` that "
                  "finds it as `TB_LOG_DIR`."},
      {.name = "tony.application.log.max-size",
       .type = ValueType::kMemory,
       .default_value = "64g",
       .minimum = 1,
       .meaning = "Size of all logs of the job's tasks together, divided evenly among tasks, their "
                  "attempts (`tony.am.retry-count` and the first) and the two streams; each share "
                  "is at least 1 MiB."},
      {.name = "tony.application.log-level",
       .type = ValueType::kChoice,
       .default_value = "info",
       .choices = {"debug", "info", "warning", "error"},
       .meaning =
           "Which lines tony's own programs (ApplicationMaster, executors, Horovod's driver) "
           "write into their logs: those of this level and above. `--debug` sets `debug` "
           "for one submission."},
      {.name = "tony.execution.envs",
       .type = ValueType::kKeyValues,
       .appends = true,
       .meaning = "Environment of every user process."},
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
       .meaning =
           "Any failed tracked task fails the attempt. TonY's default is `false`, here it is "
           "`true`; set to `false` explicitly, TonY's rule holds: the job succeeds unless "
           "the chief, a stop-on-failure task or all tracked tasks failed."},
  };
  return group;
}

KeyGroup TimeLimitKeys() {
  KeyGroup group;
  group.title = "Time limits";
  group.introduction =
      "How long things may take. Zero and -1 mean \"no limit\". An executor's own limits are among "
      "its keys below.";
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
       .meaning = "How long a job may hold a part of its containers while it waits for the rest."},
      {.name = "tony.container.hold-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "120000",
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "How long a job holds some of the containers that it starts with while the "
                  "others do not come. Then it gives them back, so that no two jobs hold what the "
                  "other one needs, waits a little and asks for all again. A job that has waited "
                  "longer holds longer, up to twice this. 0: for ever."},
      {.name = "tony.container.registration.timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "900000",
       .minimum = -1,
       .meaning = "How long a granted container may take until its task has registered."},
      {.name = "tony.container.kill.timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long a container that was killed may take to be gone. After that its task "
                  "gets another one, and the end of the job does not wait for it."},
  };
  return group;
}

KeyGroup RetryKeys() {
  KeyGroup group;
  group.title = "Retries";
  group.introduction = "How often a job begins anew, from its last checkpoint, and when.";
  group.keys = {
      {.name = "tony.am.retry-count",
       .type = ValueType::kCount,
       .default_value = "0",
       .meaning = "How many restarts failures of the program may cost: a code other than 0, a "
                  "signal, a program that cannot be started or that runs longer than allowed."},
      {.name = "tony.am.infrastructure-retry-count",
       .type = ValueType::kCount,
       .default_value = "3",
       .meaning = "How many restarts the loss of containers and executors may cost: processes of "
                  "tony that end, lost heartbeats, late registrations. Not 0 by default, and apart "
                  "from `tony.am.retry-count`: a lost machine is not the program's fault."},
      {.name = "tony.am.retry-backoff-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "1000",
       .meaning = "How long the second restart in a row waits; each further one waits twice as "
                  "long. The first comes at once; 0: all do."},
      {.name = "tony.am.retry-backoff-max-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "60000",
       .meaning = "The longest wait before a restart. Tasks that ran for longer than this end the "
                  "row: the next restart comes at once."},
  };
  return group;
}

}  // namespace tony::jobfile
