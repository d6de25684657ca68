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
      "type "
      "`driver` need not be set: it gets 1 vcore and 256 MiB, or what `tony.driver.vcores` and "
      "`tony.driver.memory` say.";
  group.keys = {
      Flag("tony.horovod.driver.mode.debug", "false",
           "The job brings a driver of its own: `tony.driver.instances` is 1, and "
           "`tony.driver.command` its program. It gets the hosts as `CLUSTER_WORKER_LIST` and "
           "writes the plan of ranks into the folder `DRIVER_OUTPUT_PATH`."),
      Number("tony.horovod.driver.start-timeout-ms", kMilliseconds, "60000", 1,
             "How long the driver may take to say who has which rank."),
      Number("tony.horovod.rendezvous-timeout-ms", kMilliseconds, "600000", 1,
             "How long the processes may take to find each other, from the first one that looks "
             "for the others to the last."),
      {.name = "tony.horovod.network-interfaces",
       .type = kList,
       .meaning = "Names of the network interfaces that the processes use, the same on every "
                  "host; Gloo takes the first. By default the one by which the others are "
                  "reached."},
      {.name = "tony.horovod.gloo-timeout-sec",
       .type = kSeconds,
       .default_value = "2000",
       .maximum = 2'000'000,
       .meaning = "How long a process waits for another one, while they find each other and in "
                  "each operation; 0: for ever. Not less than "
                  "`tony.horovod.rendezvous-timeout-ms`. Horovod's own default is 30, TonY sets "
                  "2000."},
      {.name = "tony.horovod.elastic-timeout-sec",
       .type = kSeconds,
       .default_value = "600",
       .minimum = 1,
       .meaning = "How long an elastic job waits for enough processes, and for those that live to "
                  "take part in its next round."},
      {.name = "tony.horovod.reset-limit",
       .type = kCount,
       .default_value = "0",
       .meaning = "How often an elastic job may begin another round; 0: any number."},
      Number("tony.horovod.host-cooldown-ms", kMilliseconds, "1000", 0,
             "How long an elastic job leaves a host out on which a process has failed; it doubles "
             "with each failure there."),
      Number("tony.horovod.host-cooldown-max-ms", kMilliseconds, "60000", 0,
             "What this doubling ends at."),
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
      "Named after the options of `horovodrun`. What is not set is left to Horovod, whose default "
      "is shown.";
  group.keys = {
      Number("tony.horovod.fusion-threshold-mb", kCount, "128", 0,
             "Size of the buffer, in MiB, in which small tensors are put together; 0: none are."),
      Number("tony.horovod.cycle-time-ms", kDecimal, "1", 0,
             "Milliseconds between two looks for tensors that are ready."),
      Number("tony.horovod.cache-capacity", kCount, "1024", 0,
             "How many tensors' names are kept, so that they need not be agreed upon again; 0: "
             "none."),
      Flag("tony.horovod.hierarchical-allreduce", "false",
           "Reduce on each host first. Horovod does so by MPI only, which tony's jobs do not use; "
           "`false` keeps autotuning from trying it."),
      Flag("tony.horovod.hierarchical-allgather", "false", "The same for gathering."),
      Flag("tony.horovod.torus-allreduce", "false",
           "Reduce on each host first, then across hosts, both with NCCL."),
      {.name = "tony.horovod.num-nccl-streams",
       .type = kCount,
       .default_value = "1",
       .minimum = 1,
       .meaning = "Streams that NCCL's operations are put into, in turn."},
      {.name = "tony.horovod.thread-affinity",
       .type = kList,
       .meaning = "Processor cores to which Horovod's own thread is bound: one for each process "
                  "of a host, by local rank."},
      Flag("tony.horovod.autotune", "false",
           "Try values of the keys above that are not set, and keep the best."),
      {.name = "tony.horovod.autotune-log-file",
       .meaning = "Where rank 0 writes what was tried, as CSV; relative to its working folder."},
      Number("tony.horovod.autotune-warmup-samples", kCount, "3", 0,
             "Samples that do not count, at the beginning."),
      Number("tony.horovod.autotune-steps-per-sample", kCount, "10", 1, "Steps of one sample."),
      Number("tony.horovod.autotune-bayes-opt-max-samples", kCount, "20", 1,
             "After how many samples the best is kept."),
      {.name = "tony.horovod.autotune-gaussian-process-noise",
       .type = kDecimal,
       .default_value = "0.8",
       .maximum = 1,
       .meaning = "How much samples are taken to vary by chance."},
  };
  return group;
}

KeyGroup HorovodWatchKeys() {
  using enum ValueType;
  KeyGroup group;
  group.title = "What Horovod reports";
  group.introduction =
      "More options of `horovodrun`. What is not set is left to Horovod, whose default is shown.";
  group.keys = {
      {.name = "tony.horovod.timeline-filename",
       .meaning = "Where rank 0 writes what happened to each tensor, for Chrome's `about:tracing`; "
                  "relative to its working folder. `DYNAMIC`: the program says when and where."},
      Flag("tony.horovod.timeline-mark-cycles", "false", "Mark Horovod's cycles in it."),
      Flag("tony.horovod.stall-check", "true",
           "Warn of tensors that some processes have and others do not."),
      Number("tony.horovod.stall-check-warning-time-seconds", kSeconds, "60", 0, "After how long."),
      Number("tony.horovod.stall-check-shutdown-time-seconds", kSeconds, "0", 0,
             "After how long all processes fail; more than the time to the warning, or 0: never."),
      {.name = "tony.horovod.log-level",
       .type = kChoice,
       .default_value = "warning",
       .choices = {"trace", "debug", "info", "warning", "error", "fatal"},
       .meaning = "What Horovod itself prints."},
      Flag("tony.horovod.log-with-timestamp", "true", "Print the time with it."),
  };
  return group;
}

}  // namespace tony::jobfile
