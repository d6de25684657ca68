// Rows of the executors and of the ApplicationMaster.
#include "spec/key_groups.h"

namespace tony::spec {

KeyGroup TotalLimitKeys() {
  KeyGroup group;
  group.title = "Limits over all tasks";
  group.introduction = "For site files: what one job may ask for in total.";
  group.keys = {
      {.name = "tony.task.max-total-instances",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "The most tasks that a job may ask for; -1: no limit of its own."},
      {.name = "tony.task.max-total-memory",
       .type = ValueType::kMemory,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "The most memory of all tasks together; -1: any."},
      {.name = "tony.task.max-total-vcores",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "The most virtual cores of all tasks together; -1: any."},
      {.name = "tony.task.max-total-gpus",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "The most GPUs of all tasks together; -1: any."},
  };
  return group;
}

KeyGroup ExecutorKeys() {
  KeyGroup group;
  group.title = "Executors";
  group.introduction = "How an executor watches the task that it runs.";
  group.keys = {
      {.name = "tony.task.heartbeat-interval-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "1000",
       .minimum = 10,
       .meaning = "How often an executor says that it is alive."},
      {.name = "tony.task.max-missed-heartbeats",
       .type = ValueType::kCount,
       .default_value = "25",
       .minimum = 1,
       .meaning =
           "After how many missed heartbeats a task counts as lost. Its program does not run "
           "on then: an executor whose heartbeats were not answered for so long, or for "
           "`tony.am.reattach-timeout-ms` if that is less, has its program suspended."},
      {.name = "tony.task.reconnect-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "3000",
       .minimum = 1,
       .meaning = "How long an executor whose stream to the ApplicationMaster broke has to open "
                  "another one, before its task counts as lost."},
      {.name = "tony.task.localization-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "600000",
       .minimum = 1,
       .meaning = "How long a task waits for another one of its host that unpacks what both need."},
      {.name = "tony.task.metrics-interval-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .minimum = 100,
       .meaning = "How often an executor reports the use of processors, memory and GPUs."},
      {.name = "tony.task.kill-grace-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .meaning = "Time between SIGTERM and SIGKILL for a user process and all that it started."},
      {.name = "tony.task.containment",
       .type = ValueType::kChoice,
       .default_value = "auto",
       .choices = {"auto", "cgroup", "namespace", "process-tree"},
       .meaning = "How a task's processes are held together, so that none outlives it: by a "
                  "control group, which also holds them to their memory where the kernel can; by a "
                  "process namespace; by descent. `auto`: the first of these that works. A way "
                  "that does not work ends the task."},
      {.name = "tony.task.executor.execution-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "0",
       .minimum = -1,
       .meaning = "Time limit of one run of the user's process; 0: none."},
      {.name = "tony.task.executor.registry-timeout-sec",
       .type = ValueType::kSeconds,
       .default_value = "0",
       .minimum = -1,
       .maximum = 100'000'000,
       .meaning = "How long an executor tries to register before it gives up; 0: forever."},
      {.name = "tony.task.executor.execution.error-message-max-depth",
       .type = ValueType::kCount,
       .default_value = "20",
       .maximum = 1000,
       .meaning =
           "How many of the last lines of a failed task's output the verdict shows; a Python "
           "traceback is shown whole, up to 200 lines."},
      {.name = "tony.task.log.rotate-size",
       .type = ValueType::kMemory,
       .default_value = "256m",
       .minimum = 1,
       .meaning = "Size of one file of a task's log, after which the next one begins."},
      {.name = "tony.task.log.max-size",
       .type = ValueType::kMemory,
       .default_value = "2g",
       .minimum = 1,
       .meaning = "Size of all files of one stream (stdout, stderr) of one attempt of a task: the "
                  "first and the newest ones are kept."},
      {.name = "tony.task.log.redact",
       .type = ValueType::kPatterns,
       .meaning = "What is taken out of the output before it is written, besides well-known kinds "
                  "of passwords, tokens and keys. A match lies within a line."},
      {.name = "tony.gpu-exec-path",
       .default_value = "nvidia-smi",
       .meaning = "The program, by name or path, that lists GPUs and their use."},
      {.name = "tony.gpu-exec-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long that program may take for one answer."},
  };
  return group;
}

KeyGroup ApplicationMasterKeys() {
  KeyGroup group;
  group.title = "ApplicationMaster";
  group.introduction =
      "Each job has one ApplicationMaster. "
      "In a job without tasks its container runs the command.";
  group.keys = {
      {.name = "tony.am.memory",
       .type = ValueType::kMemory,
       .default_value = "2g",
       .minimum = 1,
       .meaning = "Memory of the ApplicationMaster's container."},
      {.name = "tony.am.vcores",
       .type = ValueType::kCount,
       .default_value = "1",
       .minimum = 1,
       .meaning = "Virtual cores of the ApplicationMaster's container."},
      {.name = "tony.am.gpus",
       .type = ValueType::kCount,
       .default_value = "0",
       .meaning = "GPUs of the ApplicationMaster's container."},
      {.name = "tony.am.command",
       .type = ValueType::kCommand,
       .meaning = "What a job without tasks runs; by default `tony.containers.command`."},
      {.name = "tony.am.resources",
       .type = ValueType::kResources,
       .meaning = "Files, folders and archives for the command of a job without tasks."},
      {.name = "tony.am.max-restarts",
       .type = ValueType::kCount,
       .default_value = "10",
       .meaning =
           "How many times an ApplicationMaster that was killed is started again. Its tasks go "
           "on meanwhile."},
      {.name = "tony.am.reattach-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long tasks go on without an ApplicationMaster, and how long a restarted one "
                  "waits for them."},
      {.name = "tony.am.silence-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "300000",
       .minimum = 1,
       .meaning = "How long tasks wait for an ApplicationMaster that is there but does not answer, "
                  "because it was stopped, say; their programs are suspended meanwhile."},
      {.name = "tony.am.shutdown-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "15000",
       .meaning = "Time that executors have to end after the verdict, beyond "
                  "`tony.task.kill-grace-ms`."},
      {.name = "tony.am.wait-client-signal-stop-timeout-sec",
       .type = ValueType::kSeconds,
       .default_value = "2",
       .maximum = 100'000,
       .meaning =
           "How long the ApplicationMaster waits at the end for clients that have not read the "
           "last events. TonY's default is 15."},
      {.name = "tony.am.root-cause-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "500",
       .meaning =
           "How long a failure that looks like the consequence of another one, such as a lost "
           "connection, waits for that one to be heard of, before it counts itself."},
      {.name = "tony.am.waiting-notice-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .meaning = "After how long a job that waits for its tasks says on the terminal and in its "
                  "history which of them are missing. `tony status` says it at any time."},
      {.name = "tony.am.startup-timeout",
       .type = ValueType::kMilliseconds,
       .default_value = "0",
       .minimum = -1,
       .status = KeyStatus::kRefused,
       .reason = "waiting in a queue is not limited by this version; "
                 "tony.client.am-start-timeout-ms limits the start itself",
       .meaning = "How long the application may wait to be started."},
  };
  return group;
}

KeyGroup LocalKeys() {
  KeyGroup group;
  group.title = "This machine and the client";
  group.introduction = "How jobs of this machine share it, and how long the client waits.";
  group.keys = {
      {.name = "tony.local.dir",
       .type = ValueType::kFolder,
       .default_value = "~/.tony",
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "Folder of the jobs and of the ledger that they share."},
      {.name = "tony.local.gpus",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .maximum = 1024,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "How many GPUs the machine has; -1: detect them."},
      {.name = "tony.local.vcores",
       .type = ValueType::kCount,
       .default_value = "0",
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "How many virtual cores the machine has, as a hard limit; 0: virtual cores are "
                  "shares, any number fits."},
      {.name = "tony.local.history-retention",
       .type = ValueType::kCount,
       .default_value = "30",
       .minimum = -1,
       .maximum = 36'500,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning =
           "After how many days `tony-submit` removes an ended job's folder with its history "
           "and logs, unless it holds checkpoints; 0 and -1: never."},
      {.name = "tony.local.ledger-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning =
           "How long a job waits for another process of tony that has locked the ledger: one "
           "that was stopped, say."},
      {.name = "tony.local.memory",
       .type = ValueType::kMemory,
       .minimum = 1,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "Memory for all jobs together; by default the machine's."},
      {.name = "tony.client.am-start-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long the client waits for a started ApplicationMaster's first answer, and "
                  "then for its first event."},
      {.name = "tony.client.stop-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .minimum = 1,
       .meaning =
           "How long the client waits for the ApplicationMaster to note that the job is to be "
           "stopped."},
      {.name = "tony.client.am-exit-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "30000",
       .minimum = 1,
       .meaning =
           "How long the client waits for an ApplicationMaster that says nothing any more to "
           "be gone, before it kills it."},
  };
  return group;
}

}  // namespace tony::spec
