// Keys of the order of task types: dependencies, stages and time limits between types.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {
namespace {

Key DistributedMode() {
  return {.name = "tony.application.distributed-mode",
          .type = ValueType::kChoice,
          .default_value = "GANG",
          .choices = {"GANG", "FCFS"},
          .meaning =
              "When a program starts. `GANG`: when all tasks that start together have registered. "
              "`FCFS` (first come, first served): when its own task has registered; it learns no "
              "other task's address, so only `tensorflow` and `standalone` jobs can have this mode "
              "([fcfs.md](frameworks/fcfs.md))."};
}

Key Preprocessing() {
  return {.name = "tony.application.enable-preprocess",
          .type = ValueType::kBoolean,
          .default_value = "false",
          .meaning =
              "The ApplicationMaster's command (`tony.am.command`, else `tony.containers.command`) "
              "runs once, as the task `main:0`, before all others "
              "([preprocessing.md](frameworks/preprocessing.md)). A line `Model parameters: X` of "
              "its output gives them `MODEL_PARAMS`."};
}

}  // namespace

KeyGroup OrderKeys() {
  KeyGroup group;
  group.title = "Order of task types";
  group.introduction =
      "Task types that start after others, and time limits between them. See also "
      "`tony.<type>.depends-on`. A dependency on a tracked type is fulfilled when all its tasks "
      "have succeeded. If one has failed, the types that depend on it do not start, and the job "
      "fails. (In TonY any exit status fulfils it.) A dependency on an untracked type or a sidecar "
      "is fulfilled when all its tasks have been started. A task receives the addresses of the "
      "types that start together with it, and of earlier ones that still run.";
  group.keys = {
      {.name = "tony.application.prepare-stage",
       .type = ValueType::kList,
       .meaning =
           "Task types that run first: each type of the training stage depends on all tracked "
           "types of this one. If only the other stage is set: all types that are not in it."},
      {.name = "tony.application.training-stage",
       .type = ValueType::kList,
       .meaning = "Task types that run after the prepare stage. If only the other stage is set: "
                  "all types that are not in it. If both stages are set, each type must be in one "
                  "of them, except sidecars, which start at once if they are in none."},
      {.name = "tony.application.group.<group>",
       .type = ValueType::kList,
       .meaning = "A named set of task types."},
      {.name = "tony.application.dependency.<type>.timeout.after.<group>",
       .type = ValueType::kSeconds,
       .maximum = 100'000'000,
       .meaning = "The job fails if this type has not ended within this time after all tasks of "
                  "the group have ended, with whatever result; 0: at once. A type may have such "
                  "limits after several groups."},
      {.name = "tony.application.dependency.<type>.timeout.after.<group>.ignored",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning = "Stop waiting for the type instead of failing: it becomes untracked, so the job "
                  "can succeed."},
      DistributedMode(),
      Preprocessing(),
  };
  return group;
}

}  // namespace tony::jobfile
