// Keys of the ApplicationMaster, of the local backend's machine and of the client.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

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
           "How many times an ApplicationMaster that was killed is started again: at once, but "
           "several in a row ever later, up to ten seconds. Its tasks go on meanwhile."},
  };
  return group;
}

KeyGroup MasterWaitKeys() {
  KeyGroup group;
  group.title = "What the ApplicationMaster waits for";
  group.introduction = "How long, and what then.";
  group.keys = {
      {.name = "tony.am.reattach-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long tasks go on without an ApplicationMaster, and how long a restarted one "
                  "waits for them. On YARN, which may take ten minutes to start another one, "
                  "900000 where nothing is set."},
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
  group.title = "This machine";
  group.introduction = "How jobs of this machine share it.";
  group.keys = {
      {.name = "tony.local.dir",
       .type = ValueType::kFolder,
       .default_value = "~/.tony",
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning =
           "Folder of the jobs and of the ledger that they share: a new or an empty one, which "
           "is tony's alone then. Neither it nor a folder above it may be another user's, or "
           "be written to by others (root's folders with the sticky bit, such as `/tmp`, "
           "may be)."},
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
           "and logs, unless it holds checkpoints; 0 and -1: never. Days count that two "
           "submissions, "
           "a day apart, agree on: a clock that was wrong once removes nothing."},
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
  };
  return group;
}

KeyGroup ClientKeys() {
  KeyGroup group;
  group.title = "The client";
  group.introduction = "How long it waits.";
  group.keys = {
      {.name = "tony.client.am-start-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long the client waits for a started ApplicationMaster's first answer, and "
                  "then for it to take the client's stream of events."},
      {.name = "tony.client.lease",
       .type = ValueType::kMilliseconds,
       .default_value = "300000",
       .minimum = 1,
       .status = KeyStatus::kOneBackend,
       .reason = "yarn",
       .meaning = "How long a job goes on without the client that submitted it. On this machine it "
                  "ends at once; a detached job has no client."},
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
           "be gone; then it kills it, or, on YARN, leaves. On YARN also how long it tries to read "
           "what an ended job has recorded."},
  };
  return group;
}

}  // namespace tony::jobfile
