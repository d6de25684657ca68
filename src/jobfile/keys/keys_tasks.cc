// Keys of the executors, their tasks' output, and limits over all tasks.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

KeyGroup TotalLimitKeys() {
  KeyGroup group;
  group.title = "Limits over all tasks";
  group.introduction = "For site files: limits on what one job may request in total.";
  group.keys = {
      {.name = "tony.task.max-total-instances",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "Limit on the number of a job's tasks; -1: none of this kind."},
      {.name = "tony.task.max-total-memory",
       .type = ValueType::kMemory,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "Limit on the memory of all tasks together; -1: none."},
      {.name = "tony.task.max-total-vcores",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "Limit on the virtual cores of all tasks together; -1: none."},
      {.name = "tony.task.max-total-gpus",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "Limit on the GPUs of all tasks together; -1: none."},
  };
  return group;
}

// Longer than 60 lines because it is one table of keys.
KeyGroup ExecutorKeys() {
  KeyGroup group;
  group.title = "Executors";
  group.introduction = "How an executor watches the task that it runs.";
  group.keys = {
      {.name = "tony.task.heartbeat-interval-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "1000",
       .minimum = 10,
       .meaning = "Time between two heartbeats of an executor. In a job of more than 100 tasks it "
                  "is longer, so that there are no more than 100 heartbeats per second, but never "
                  "longer than two fifths of the time after which the executor suspends its program "
                  "(see the next key)."},
      {.name = "tony.task.max-missed-heartbeats",
       .type = ValueType::kCount,
       .default_value = "25",
       .minimum = 1,
       .meaning =
           "Number of missed heartbeats after which a task counts as lost. Its program does not "
           "run on then: an executor suspends its program when no heartbeat was answered for that "
           "long, or for `tony.am.reattach-timeout-ms` if that is shorter."},
      {.name = "tony.task.reconnect-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "3000",
       .minimum = 1,
       .meaning = "How long an executor whose stream to the ApplicationMaster broke may take to "
                  "open another one, before its task counts as lost."},
      {.name = "tony.task.localization-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "600000",
       .minimum = 1,
       .meaning = "How long a task waits for another task on its host to unpack what both need."},
      {.name = "tony.task.kill-grace-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "5000",
       .meaning = "Time between SIGTERM and SIGKILL for a user process and all processes that it "
                  "started."},
      {.name = "tony.task.containment",
       .type = ValueType::kChoice,
       .default_value = "auto",
       .choices = {"auto", "cgroup", "namespace", "process-tree"},
       .meaning = "How a task's processes are held together, so that none outlives the task: by a "
                  "control group, which also enforces their memory limit where the kernel can; by "
                  "a process namespace; by descent. `auto`: the first of these that works. If a "
                  "chosen one does not work, the task ends."},
      {.name = "tony.task.exec.enabled",
       .type = ValueType::kBoolean,
       .default_value = "true",
       .meaning = "Whether `tony exec` may run commands in the job's tasks. An administrator turns "
                  "it off for all jobs with `<final>` in the site file."},
      {.name = "tony.task.collective-package",
       .type = ValueType::kBoolean,
       .default_value = "true",
       .meaning =
           "Whether Python programs find `tony.collective` ([collective.md](collective.md)): its "
           "folder is added to the end of `PYTHONPATH`."},
      {.name = "tony.task.python-faulthandler",
       .type = ValueType::kBoolean,
       .default_value = "true",
       .meaning = "Whether Python programs print their stack when a signal such as SIGSEGV kills "
                  "them: sets `PYTHONFAULTHANDLER=1`, unless the job sets that variable itself."},
      {.name = "tony.task.stacks",
       .type = ValueType::kBoolean,
       .default_value = "true",
       .meaning =
           "Whether `tony stacks` can ask Python programs for the stacks of their threads, without "
           "any debugger's rights: a folder with a `sitecustomize` of tony's comes first in "
           "`PYTHONPATH`, which runs the one that it hides. It costs about a millisecond per start "
           "of Python."},
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
  };
  return group;
}

KeyGroup FeedKeys() {
  KeyGroup group;
  group.title = "Feed";
  group.introduction =
      "Whether another program pushes data to the job's tasks while they run, such as partitions "
      "of a Spark job.";
  group.keys = {
      {.name = "tony.feed.enabled",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning =
           "Whether the job's tasks can be fed: each task of a tracked type gets an endpoint "
           "for producers of data, and finds it by `TONY_FEED_SOCKET`. `tony feed JOB` "
           "shows where and how they connect."},
      {.name = "tony.feed.buffer",
       .type = ValueType::kMemory,
       .default_value = "16m",
       .minimum = 1,
       .maximum = 1024,
       .meaning = "Memory for the data of one feed that a task has not consumed yet, in sixteen "
                  "slots; a batch, and so a single row, fits into one slot. It counts against the "
                  "container's memory."},
  };
  return group;
}

// Longer than 60 lines because it is one table of keys.
KeyGroup TaskOutputKeys() {
  KeyGroup group;
  group.title = "Output of tasks";
  group.introduction = "How much of a task's output is kept.";
  group.keys = {
      {.name = "tony.task.silence-note",
       .type = ValueType::kMilliseconds,
       .default_value = "600000",
       .meaning = "Time without any output of all tasks after which a note says so, and what each "
                  "of them did meanwhile; 0: never."},
      {.name = "tony.task.hang-action",
       .type = ValueType::kChoice,
       .default_value = "warn",
       .choices = {"warn", "restart", "fail"},
       .meaning = "What happens when a program that reports its steps (`TONY_PROGRESS`, "
                  "`tony.report()`) makes no progress and computes nothing, or keeps its GPUs busy "
                  "without progress. `warn`: a note, and the stacks of all processes are kept, "
                  "twice within 30 s, for `tony stacks`. `restart`: after that the task for which "
                  "the others seem to wait counts as failed. `fail`: after that the job fails. "
                  "Neither happens while one of the programs computes and is at another place at "
                  "each look: it does something that it does not report."},
      {.name = "tony.task.hang-limit-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "0",
       .meaning = "Time without a step after which that is so; 0: a minute, or three times the "
                  "longest time that the program usually takes for a step (99th percentile of the "
                  "last 200, for each phase that it reports), if that is more."},
      {.name = "tony.task.executor.execution.error-message-max-depth",
       .type = ValueType::kCount,
       .default_value = "20",
       .maximum = 1000,
       .meaning = "How many of the last lines of a failed task's output the verdict shows. A "
                  "Python traceback is shown whole, up to 200 lines."},
      {.name = "tony.task.log.rotate-size",
       .type = ValueType::kMemory,
       .default_value = "256m",
       .minimum = 1,
       .meaning = "Size of one file of a task's log, after which the next file begins."},
      {.name = "tony.task.log.max-size",
       .type = ValueType::kMemory,
       .default_value = "2g",
       .minimum = 1,
       .meaning = "Limit on the size of all files of one stream (stdout, stderr) of one attempt of "
                  "a task. The first and the newest files are kept."},
      {.name = "tony.task.log.redact",
       .type = ValueType::kPatterns,
       .meaning =
           "Patterns of text that is removed from the output before it is written, in addition to "
           "well-known kinds of passwords, tokens and keys. A match lies within a line."},
  };
  return group;
}

KeyGroup MeasurementKeys() {
  KeyGroup group;
  group.title = "Measurements of tasks";
  group.introduction =
      "How a task's use of the machine is measured, and how far its program has come.";
  group.keys = {
      {.name = "tony.task.metrics-interval-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "1000",
       .minimum = 100,
       .meaning = "Time between two measurements of what a task uses: processors, memory, storage, "
                  "network and GPUs. In a job of more than 100 tasks, executors send several at "
                  "once, so that there are no more than 100 messages per second; page and `tony "
                  "top` then follow some seconds later. What costs much to measure is measured less "
                  "often, so that an executor takes at most half a percent of a processor for it."},
      {.name = "tony.am.metrics-memory",
       .type = ValueType::kMemory,
       .default_value = "64m",
       .minimum = 1,
       .maximum = 4096,
       .meaning =
           "The most memory of the ApplicationMaster for the metrics of all tasks. With more "
           "tasks the past of each one becomes coarser; no job needs more memory because it "
           "runs longer."},
      {.name = "tony.metrics.token-file",
       .type = ValueType::kExistingPath,
       .meaning = "File with the token, of 32 characters or more, with which a program such as "
                  "Prometheus reads the job's metrics: `/metrics` at the port of the job's page "
                  "([job-page.md](job-page.md#prometheus)). Only its owner may have access to the "
                  "file. The page of a job on a cluster is reached through YARN's proxy only, and "
                  "takes no token; the portal does."},
      {.name = "tony.task.progress-pattern",
       .type = ValueType::kStepPattern,
       .meaning =
           "Finds the progress of programs that do not report it themselves in what they print: a "
           "pattern that is matched with each line, `epoch \\d+ step (?P<step>\\d+) loss "
           "(?P<loss>\\S+)`. Its groups are the names of the values; `step` must be one of them. "
           "The first 4096 bytes of a line are looked at. In XML, `<` is written `&lt;`."},
      {.name = "tony.gpu-exec-path",
       .default_value = "nvidia-smi",
       .meaning = "The program, by name or path, that lists GPUs and their use. With the default, "
                  "executors measure their task's GPUs through the driver's library, "
                  "libnvidia-ml.so.1. Where there is none, or another program is named, that "
                  "program measures them each five seconds."},
      {.name = "tony.gpu-exec-timeout-ms",
       .type = ValueType::kMilliseconds,
       .default_value = "10000",
       .minimum = 1,
       .meaning = "How long one run of that program may take."},
  };
  return group;
}

}  // namespace tony::jobfile
