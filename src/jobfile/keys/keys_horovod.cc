// Keys of Horovod jobs. The keys that tune Horovod have the names of horovodrun's options.
#include "jobfile/keys/key_groups.h"

namespace tony::jobfile {
namespace {

constexpr char kMadeUp[] =
    "a made-up plan of ranks, for TonY's own tests, with which nothing real is started";

Key Refused(const std::string& name, const std::string& meaning) {
  return {.name = name,
          .type = ValueType::kBoolean,
          .default_value = "false",
          .status = KeyStatus::kRefused,
          .reason = kMadeUp,
          .meaning = meaning};
}

Key Flag(const std::string& name, const std::string& default_value, const std::string& meaning) {
  return {.name = name,
          .type = ValueType::kBoolean,
          .default_value = default_value,
          .meaning = meaning};
}

Key Number(const std::string& name, ValueType type, const std::string& default_value,
           int64_t minimum, const std::string& meaning) {
  return {.name = name,
          .type = type,
          .default_value = default_value,
          .minimum = minimum,
          .meaning = meaning};
}

}  // namespace

KeyGroup HorovodKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "Horovod";
  group.introduction =
      "How the processes of a Horovod job find each other ([horovod.md](horovod.md)). Its task "
      "type `driver` need not be set: it gets 1 vcore and 256 MiB, or the values of "
      "`tony.driver.vcores` and `tony.driver.memory`.";
  group.keys = {
      Flag("tony.horovod.driver.mode.debug", "false",
           "The job brings its own driver: `tony.driver.instances` is 1, and `tony.driver.command` "
           "is the driver's program. The program receives the hosts as `CLUSTER_WORKER_LIST` and "
           "writes the plan of ranks into the folder `DRIVER_OUTPUT_PATH`."),
      Number("tony.horovod.driver.start-timeout-ms", kMilliseconds, "60000", 1,
             "How long the driver may take to plan the ranks."),
      Number("tony.horovod.rendezvous-timeout-ms", kMilliseconds, "600000", 1,
             "How long the processes may take to find each other, from the first one that waits "
             "for the others to the last one."),
      {.name = "tony.horovod.network-interfaces",
       .type = kList,
       .meaning =
           "Names of the network interfaces that the processes use, the same on every host; Gloo "
           "takes the first. By default, the interface with the route to the other hosts."},
      {.name = "tony.horovod.gloo-timeout-sec",
       .type = kSeconds,
       .default_value = "2000",
       .maximum = 2'000'000,
       .meaning = "How long a process waits for another one, during the rendezvous and in each "
                  "operation; 0: for ever. Not less than `tony.horovod.rendezvous-timeout-ms`. "
                  "Horovod's own default is 30; TonY sets 2000."},
      {.name = "tony.horovod.elastic-timeout-sec",
       .type = kSeconds,
       .default_value = "600",
       .minimum = 1,
       .meaning = "How long an elastic job waits for enough processes, and for the surviving ones "
                  "to join its next round."},
      {.name = "tony.horovod.reset-limit",
       .type = kCount,
       .default_value = "0",
       .meaning = "How many further rounds an elastic job may begin; 0: any number."},
      Number("tony.horovod.host-cooldown-ms", kMilliseconds, "1000", 0,
             "How long an elastic job avoids a host on which a process has failed. The time "
             "doubles with each failure there."),
      Number("tony.horovod.host-cooldown-max-ms", kMilliseconds, "60000", 0,
             "Limit on the time for which a host is avoided."),
      Refused("tony.horovod.mode.test", "A made-up plan of ranks."),
      Refused("tony.horovod.mode.test.fast.fail", "Let the driver fail."),
  };
  return group;
}

KeyGroup HorovodTuningKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "Horovod's tuning";
  group.introduction =
      "The keys are named after the options of `horovodrun`. A key that is not set is left to "
      "Horovod, whose default is shown.";
  group.keys = {
      Number(
          "tony.horovod.fusion-threshold-mb", kCount, "128", 0,
          "Size in MiB of the fusion buffer, in which small tensors are combined; 0: no fusion."),
      Number("tony.horovod.cycle-time-ms", kDecimal, "1", 0,
             "Milliseconds between two checks for tensors that are ready."),
      Number("tony.horovod.cache-capacity", kCount, "1024", 0,
             "Number of tensors in the response cache, which need no further negotiation; 0: no "
             "cache."),
      Flag("tony.horovod.hierarchical-allreduce", "false",
           "Reduce within each host first. Horovod does so with MPI only, which tony's jobs do not "
           "use; `false` keeps autotuning from trying it."),
      Flag("tony.horovod.hierarchical-allgather", "false", "The same for allgather."),
      Flag("tony.horovod.torus-allreduce", "false",
           "Reduce within each host first, then across hosts, both with NCCL."),
      {.name = "tony.horovod.num-nccl-streams",
       .type = kCount,
       .default_value = "1",
       .minimum = 1,
       .meaning = "Number of streams among which NCCL's operations are distributed in turn."},
      {.name = "tony.horovod.thread-affinity",
       .type = kList,
       .meaning = "Processor cores to which Horovod's own thread is bound: one for each process of "
                  "a host, by local rank."},
      Flag("tony.horovod.autotune", "false",
           "Try values of the above keys that are not set, and keep the best."),
      {.name = "tony.horovod.autotune-log-file",
       .meaning = "File in which rank 0 records the values that were tried, as CSV; relative to "
                  "its working folder."},
      Number("tony.horovod.autotune-warmup-samples", kCount, "3", 0,
             "Number of samples at the beginning that are not counted."),
      Number("tony.horovod.autotune-steps-per-sample", kCount, "10", 1,
             "Number of steps in one sample."),
      Number("tony.horovod.autotune-bayes-opt-max-samples", kCount, "20", 1,
             "Number of samples after which the best values are kept."),
      {.name = "tony.horovod.autotune-gaussian-process-noise",
       .type = kDecimal,
       .default_value = "0.8",
       .maximum = 1,
       .meaning = "The random variation of samples that the optimization assumes."},
  };
  return group;
}

KeyGroup HorovodWatchKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "What Horovod reports";
  group.introduction =
      "More options of `horovodrun`. A key that is not set is left to Horovod, whose default is "
      "shown.";
  group.keys = {
      {.name = "tony.horovod.timeline-filename",
       .meaning =
           "File in which rank 0 records the events of each tensor, for Chrome's `about:tracing`; "
           "relative to its working folder. `DYNAMIC`: the program chooses the time and the file."},
      Flag("tony.horovod.timeline-mark-cycles", "false", "Mark Horovod's cycles in the timeline."),
      Flag("tony.horovod.stall-check", "true",
           "Warn of tensors that some processes have submitted and others have not."),
      Number("tony.horovod.stall-check-warning-time-seconds", kSeconds, "60", 0,
             "Time until the warning."),
      Number("tony.horovod.stall-check-shutdown-time-seconds", kSeconds, "0", 0,
             "Time until all processes fail; more than the time until the warning, or 0: never."),
      {.name = "tony.horovod.log-level",
       .type = kChoice,
       .default_value = "warning",
       .choices = {"trace", "debug", "info", "warning", "error", "fatal"},
       .meaning = "The level of Horovod's own output."},
      Flag("tony.horovod.log-with-timestamp", "true",
           "Print the time in each line of that output."),
  };
  return group;
}

}  // namespace tony::jobfile
