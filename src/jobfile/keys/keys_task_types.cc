// Keys that exist for each task type, and keys for the containers of all types.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {

KeyGroup TaskTypeKeys() {
  KeyGroup group;
  group.title = "Task types";
  group.introduction =
      "Number of a type's tasks and resources of each; `<type>` is the type's name.";
  group.per_type = true;
  group.keys = {
      {.name = "tony.<type>.instances",
       .type = ValueType::kCount,
       .default_value = "0",
       .maximum = 10'000,
       .meaning = "Number of tasks of this type. A sidecar `tensorboard` runs once."},
      {.name = "tony.<type>.max-instances",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .meaning = "Limit on the number of instances; -1: none. For site files. An elastic Horovod "
                  "job grows up to it."},
      {.name = "tony.<type>.min-instances",
       .type = ValueType::kCount,
       .default_value = "-1",
       .minimum = -1,
       .maximum = 10'000,
       .meaning =
           "For `worker` in Horovod jobs: makes the job elastic. The job goes on as long as it has "
           "this many processes ([horovod.md](horovod.md#elastic)); -1: it is not elastic."},
      {.name = "tony.<type>.memory",
       .type = ValueType::kMemory,
       .default_value = "2g",
       .minimum = 1,
       .meaning = "Memory of each task. A task that uses more is ended."},
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
       .meaning = "GPUs of each task, for its exclusive use."},
  };
  return group;
}

KeyGroup TypeProgramKeys() {
  KeyGroup group;
  group.title = "Programs of task types";
  group.introduction = "Program, environment and files of a type's tasks.";
  group.per_type = true;
  group.keys = {
      {.name = "tony.<type>.command",
       .type = ValueType::kCommand,
       .meaning = "Command of each task, run by `bash -c`; by default `tony.containers.command`."},
      {.name = "tony.<type>.env",
       .type = ValueType::kKeyValues,
       .meaning = "Environment variables of this type's user processes; they override "
                  "`tony.execution.envs`."},
      {.name = "tony.<type>.resources",
       .type = ValueType::kResources,
       .meaning =
           "Files, folders and archives that are placed into the working folder of each task."},
      {.name = "tony.<type>.port-release",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning = "Release the reserved ports right before the program starts, for servers that "
                  "set neither `SO_REUSEADDR` nor `SO_REUSEPORT`."},
      {.name = "tony.<type>.depends-on",
       .type = ValueType::kList,
       .meaning = "Task types that come first: tracked ones must have succeeded, others must have "
                  "been started. TonY has this key and never reads it."},
      {.name = "tony.<type>.restart-scope",
       .type = ValueType::kChoice,
       .default_value = "job",
       .choices = {"job", "type", "task"},
       .meaning =
           "The tasks that start again when a task of this type fails: the whole job with new "
           "ports, the tasks of its type, or this task alone. The latter two keep their ports, for "
           "programs whose neighbours connect again by themselves. A lost container or port always "
           "restarts the whole job, and so does any failure before all tasks run."},
  };
  return group;
}

KeyGroup ContainerKeys() {
  KeyGroup group;
  group.title = "All containers";
  group.introduction = "Settings for the tasks of every type.";
  group.keys = {
      {.name = "tony.containers.command",
       .type = ValueType::kCommand,
       .meaning =
           "Command of the tasks whose type has none of its own, run by `bash -c`; also set by "
           "`--executes`. In a job without tasks the ApplicationMaster's container runs it."},
      {.name = "tony.containers.envs",
       .type = ValueType::kKeyValues,
       .appends = true,
       .meaning = "Environment variables of the containers: of tony's own processes and of the "
                  "processes that they start."},
      {.name = "tony.containers.resources",
       .type = ValueType::kResources,
       .appends = true,
       .meaning =
           "Files, folders and archives that are placed into the working folder of every task. On "
           "YARN also URLs that its nodes fetch from: `hdfs:`, `webhdfs:`, `http:`, `https:`."},
  };
  return group;
}

}  // namespace tony::jobfile
