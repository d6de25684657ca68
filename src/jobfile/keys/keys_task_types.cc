// Keys that exist for each task type, and keys for the containers of all types.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

KeyGroup TaskTypeKeys() {
  KeyGroup group;
  group.title = "Task types";
  group.introduction =
      "How many tasks of a type there are, and what each may use; `<type>` is the type's name.";
  group.per_type = true;
  group.keys = {
      {.name = "tony.<type>.instances",
       .type = ValueType::kCount,
       .default_value = "0",
       .maximum = 10'000,
       .meaning = "How many tasks of this type run. A sidecar `tensorboard` runs once."},
      {.name = "tony.<type>.max-instances",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "The most instances that may be asked for; -1: any number. For site files. An "
                  "elastic Horovod job grows up to it."},
      {.name = "tony.<type>.min-instances",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .maximum = 10'000,
       .meaning =
           "For `worker` in Horovod jobs: makes the job elastic. It goes on as long as so many "
           "processes are there ([horovod.md](horovod.md#elastic)); -1: it is not elastic."},
      {.name = "tony.<type>.memory",
       .type = ValueType::kMemory,
       .default_value = "2g",
       .minimum = 1,
       .meaning = "Memory of each task. One that uses more is ended."},
      {.name = "tony.<type>.vcores",
       .type = ValueType::kCount,
       .default_value = "1",
       .minimum = 1,
       .meaning = "Virtual cores of each task."},
      {.name = "tony.tensorboard.vcores",
       .type = ValueType::kCount,
       .default_value = "2",
       .minimum = 1,
       .meaning = "Virtual cores of TensorBoard."},
      {.name = "tony.<type>.gpus",
       .type = ValueType::kCount,
       .default_value = "0",
       .meaning = "GPUs of each task, for it alone."},
  };
  return group;
}

KeyGroup TypeProgramKeys() {
  KeyGroup group;
  group.title = "Programs of task types";
  group.introduction = "What each task of a type runs.";
  group.per_type = true;
  group.keys = {
      {.name = "tony.<type>.command",
       .type = ValueType::kCommand,
       .meaning = "What each task runs, as by `bash -c`; by default `tony.containers.command`."},
      {.name = "tony.<type>.env",
       .type = ValueType::kKeyValues,
       .meaning = "Environment of this type's user processes; wins over `tony.execution.envs`."},
      {.name = "tony.<type>.resources",
       .type = ValueType::kResources,
       .meaning = "Files, folders and archives laid into the working folder of each task."},
      {.name = "tony.<type>.port-release",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning = "Release the reserved ports right before the program starts, for servers that "
                  "set neither `SO_REUSEADDR` nor `SO_REUSEPORT`."},
      {.name = "tony.<type>.depends-on",
       .type = ValueType::kList,
       .meaning = "Task types that come first: tracked ones have to have succeeded, others to have "
                  "been started. TonY has this key and never reads it."},
      {.name = "tony.<type>.restart-scope",
       .type = ValueType::kChoice,
       .default_value = "job",
       .choices = {"job", "type", "task"},
       .meaning =
           "What starts anew when a task of this type fails: the whole job with new ports, the "
           "tasks of its type, or it alone; the latter two at their old ports, for programs whose "
           "neighbours connect again by themselves. A lost container or port always concerns the "
           "whole job, and so does any failure before all tasks run."},
  };
  return group;
}

KeyGroup ContainerKeys() {
  KeyGroup group;
  group.title = "All containers";
  group.introduction = "What applies to the tasks of every type.";
  group.keys = {
      {.name = "tony.containers.command",
       .type = ValueType::kCommand,
       .meaning =
           "What tasks run whose type has no command of its own, as by `bash -c`; also set by "
           "`--executes`. In a job without tasks the ApplicationMaster's container runs it."},
      {.name = "tony.containers.envs",
       .type = ValueType::kKeyValues,
       .appends = true,
       .meaning = "Environment of the containers: of tony's own processes and of what they start."},
      {.name = "tony.containers.resources",
       .type = ValueType::kResources,
       .appends = true,
       .meaning = "Files, folders and archives laid into the working folder of every task. On YARN "
                  "also URLs that its nodes fetch from: `hdfs:`, `webhdfs:`, `http:`, `https:`."},
  };
  return group;
}

}  // namespace tony::jobfile
