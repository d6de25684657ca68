// Keys of the order of task types: dependencies, stages and time limits between types.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {
namespace {

Key DistributedMode() {
  return {.name = "tony.application.distributed-mode",
          .type = ValueType::kChoice,
          .default_value = "GANG",
          .choices = {"GANG", "FCFS"},
          .status = KeyStatus::kRefused,
          .reason =
              "all tasks that may start do so together; another mode is not supported by "
              "this version",
          .meaning = "`GANG`: tasks start when all have registered; `FCFS`: each at once."};
}

Key Preprocessing() {
  return {.name = "tony.application.enable-preprocess",
          .type = ValueType::kBoolean,
          .default_value = "false",
          .status = KeyStatus::kRefused,
          .reason =
              "a run of the command before the tasks start is not supported by this version; "
              "tony.<type>.depends-on orders task types",
          .meaning = "The ApplicationMaster runs the command first and hands on its parameters."};
}

}  // namespace

KeyGroup OrderKeys() {
  KeyGroup group;
  group.title = "Order of task types";
  group.introduction =
      "Task types that start after others, and time limits between them. See also "
      "`tony.<type>.depends-on`. A dependency is fulfilled when all tasks of a tracked type have "
      "succeeded; where one has failed, what depends on it does not start, and the job fails. (In "
      "TonY it is fulfilled with any exit status.) A dependency on an untracked type or a sidecar "
      "is fulfilled when all its tasks have been started. A task finds the addresses of the types "
      "that start together with it, and of earlier ones that still run.";
  group.keys = {
      {.name = "tony.application.prepare-stage",
       .type = ValueType::kList,
       .meaning = "Task types that run first: each type of the training stage depends on all "
                  "tracked types of this one. By default, where the other stage is set: all types "
                  "that are not in it."},
      {.name = "tony.application.training-stage",
       .type = ValueType::kList,
       .meaning = "Task types that run after the prepare stage; by default all that are not in it. "
                  "Where both are set, each type has to be in one of them, but for sidecars, which "
                  "start at once when they are in none."},
      {.name = "tony.application.group.<group>",
       .type = ValueType::kList,
       .meaning = "A named set of task types."},
      {.name = "tony.application.dependency.<type>.timeout.after.<group>",
       .type = ValueType::kSeconds,
       .maximum = 100'000'000,
       .meaning = "The job fails when this type has not ended that long after all tasks of the "
                  "group have, whatever came of them; 0: at once. A type may have such limits "
                  "after several groups."},
      {.name = "tony.application.dependency.<type>.timeout.after.<group>.ignored",
       .type = ValueType::kBoolean,
       .default_value = "false",
       .meaning = "Stop waiting for the type instead of failing: it becomes untracked, so that the "
                  "job can succeed."},
      DistributedMode(),
      Preprocessing(),
  };
  return group;
}

}  // namespace tony::jobfile
