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
       .meaning = "Command of a job without tasks, or of "
                  "`tony.application.enable-preprocess`; by default `tony.containers.command`."},
      {.name = "tony.am.resources",
       .type = ValueType::kResources,
       .meaning = "Files, folders and archives for that command."},
      {.name = "tony.am.max-restarts",
       .type = ValueType::kCount,
       .default_value = "10",
       .meaning = "How many times an ApplicationMaster that was killed is started again. The first "
                  "restart has no delay; further ones in a row are delayed by up to ten seconds. "
                  "The job's tasks go on meanwhile."},
  };
  return group;
}

KeyGroup MasterWaitKeys() {
  KeyGroup group;
  group.title = "What the ApplicationMaster waits for";
  group.introduction =
      "Time limits of the ApplicationMaster, and of tasks and clients that wait for it.";
  group.keys = {
      {.name = "tony.am.reattach-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long tasks go on without an ApplicationMaster, and how long a restarted one "
                  "waits for them. On YARN, which may take ten minutes to start another one, the "
                  "default is 900000; elsewhere it is longer for more than 400 tasks, 25000 from "
                  "1,000 on, so that their heartbeats can be rarer."},
      {.name = "tony.am.silence-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "300000",
       .minimum = 1,
       .meaning = "How long tasks wait for an ApplicationMaster that exists but does not answer, "
                  "for example because it is stopped. Their programs are suspended meanwhile."},
      {.name = "tony.am.shutdown-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "15000",
       .meaning = "How long executors may take to end after the verdict, in addition to "
                  "`tony.task.kill-grace-ms`."},
      {.name = "tony.am.wait-client-signal-stop-timeout-sec",
       .type = ValueType::kSeconds,
       .default_value = "2",
       .maximum = 100'000,
       .meaning = "How long the ApplicationMaster waits at the end for clients to read the last "
                  "events. TonY's default is 15."},
      {.name = "tony.am.root-cause-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "500",
       .meaning =
           "A failure that looks like the consequence of another one, such as a lost connection, "
           "counts only after this time, so that its cause can be reported first."},
      {.name = "tony.am.waiting-notice-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .meaning = "Time after which a job that waits for its tasks names the missing ones on the "
                  "terminal and in its history. `tony status` names them at any time."},
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

namespace {

constexpr char kSharesMeaning[] =
    " that all jobs of one user may have together, as long as users share `tony.local.ledger`: for "
    "everybody, then for users and groups that differ (`NUMBER, USER=NUMBER, @GROUP=NUMBER`). Of "
    "several groups the largest number counts. It belongs into the site file, with "
    "`<final>true</final>`.";

/// A key that limits each user's share of something.
Key ShareKey(const std::string& name, ValueType type, const std::string& what) {
  return {.name = name,
          .type = type,
          .status = KeyStatus::kOneBackend,
          .reason = "local",
          .meaning = what + kSharesMeaning};
}

/// The keys of the ledger, in which jobs record what they use of the machine.
std::vector<Key> LedgerKeys() {
  return {
      {.name = "tony.local.ledger",
       .type = ValueType::kText,
       .default_value = "/var/lib/tony/ledger",
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning =
           "Folder in which the jobs of all users of this machine say what they use. An "
           "administrator makes it: `sudo install -d -m 1777 /var/lib/tony/ledger`. Without the "
           "default folder, and with `private`, a job sees only jobs of the same user; it then "
           "may get memory and GPUs that another user's job has."},
      {.name = "tony.local.ledger-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "How long a job waits for another process of tony that has locked the ledger, "
                  "for example a stopped one."},
  };
}

}  // namespace

KeyGroup LocalKeys() {
  KeyGroup group;
  group.title = "This machine";
  group.introduction = "How the jobs of the local backend share the machine.";
  group.keys = {
      {.name = "tony.local.dir",
       .type = ValueType::kFolder,
       .default_value = "~/.tony",
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "Folder of the jobs and of the ledger that they share: a new or an empty one, "
                  "which tony then uses alone. Neither the folder nor one above it may belong to "
                  "another user or be writable by others (root's folders with the sticky bit, such "
                  "as `/tmp`, are allowed)."},
      {.name = "tony.local.gpus",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .maximum = 1024,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "Number of GPUs of the machine; -1: detect them."},
      {.name = "tony.local.vcores",
       .type = ValueType::kCount,
       .default_value = "0",
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "Number of virtual cores of the machine, as a hard limit; 0: virtual cores are "
                  "shares, and any number fits."},
      {.name = "tony.local.history-retention",
       .type = ValueType::kCount,
       .default_value = "30",
       .minimum = -1,
       .maximum = 36'500,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning =
           "Number of days after which `tony-submit` removes an ended job's folder with its "
           "history and logs, unless it holds checkpoints; 0 and -1: never. A day counts only if "
           "two submissions a day apart agree on it, so that a wrong clock removes nothing."},
      {.name = "tony.local.memory",
       .type = ValueType::kMemory,
       .minimum = 1,
       .status = KeyStatus::kOneBackend,
       .reason = "local",
       .meaning = "Memory for all jobs together; by default the machine's."},
  };
  // In the order of the names, as in the other groups.
  const std::vector<Key> ledger = LedgerKeys();
  group.keys.insert(group.keys.end() - 1, ledger.begin(), ledger.end());
  group.keys.push_back(ShareKey("tony.local.user-gpus", ValueType::kUserCounts, "GPUs"));
  group.keys.push_back(ShareKey("tony.local.user-memory", ValueType::kUserMemory, "Memory"));
  group.keys.push_back(ShareKey("tony.local.user-vcores", ValueType::kUserCounts, "Virtual cores"));
  return group;
}

KeyGroup ClientKeys() {
  KeyGroup group;
  group.title = "The client";
  group.introduction = "How long a client waits.";
  group.keys = {
      {.name = "tony.client.am-start-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long the client waits for the first answer of a started ApplicationMaster, "
                  "and then for the beginning of the stream of events."},
      {.name = "tony.client.lease",
       .type = ValueType::kMilliseconds,
       .default_value = "300000",
       .minimum = 1,
       .meaning = "How long a job on a cluster, or of a step of a workflow, goes on without a "
                  "client that owns it; a step's job has 600000 unless the key is set. Another job "
                  "on the local backend ends at once. A detached job needs no client."},
      {.name = "tony.client.step-lines-per-second",
       .type = ValueType::kCount,
       .default_value = "100",
       .meaning = "How many lines of its tasks' output a step of a workflow prints in a second; "
                  "the rest is left out and counted, and tony logs has it. 0: all."},
      {.name = "tony.client.on-hangup",
       .type = ValueType::kChoice,
       .default_value = "detach",
       .choices = {"detach", "kill"},
       .meaning = "What happens to a job whose terminal is closed, or whose ssh connection is lost "
                  "(SIGHUP): detach lets it go on, for tony attach and tony kill; kill ends it. "
                  "Where logind ends all of a user's processes at the logout (KillUserProcesses), "
                  "the job ends all the same."},
      {.name = "tony.client.stop-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .minimum = 1,
       .meaning = "How long the client waits for the ApplicationMaster to record a request to stop "
                  "the job."},
      {.name = "tony.client.am-exit-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "30000",
       .minimum = 1,
       .meaning = "How long the client waits for an ApplicationMaster that no longer answers to "
                  "exit. Then the client kills it or, on YARN, leaves. On YARN, also how long the "
                  "client tries to read the record of an ended job."},
  };
  return group;
}

}  // namespace tony::jobfile
