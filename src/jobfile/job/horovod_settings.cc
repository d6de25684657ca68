// A table maps keys to Horovod's variables, whose names and formats come from Horovod's
// horovod/runner/common/util/config_parser.py.
#include "jobfile/job/horovod_settings.h"

#include <chrono>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jobfile/job/framework.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/keys/value_check.h"

namespace tony::jobfile {
namespace {

constexpr int64_t kBytesInMegabyte = 1024 * 1024;

/// The conversion from a key's value to its variable's.
enum class Form {
  kText,         ///< unchanged
  kMegabytes,    ///< MiB in the key, bytes in the variable
  kFlag,         ///< 1 or 0: Horovod parses a number and would read "true" as 0
  kOppositeFlag  ///< 0 or 1: the variable turns off the feature that the key turns on
};

/// A row of the table.
struct Variable {
  const char* key;   ///< after `tony.horovod.`
  const char* name;  ///< after `HOROVOD_`
  Form form = Form::kText;
};

constexpr Variable kVariables[] = {
    {"fusion-threshold-mb", "FUSION_THRESHOLD", Form::kMegabytes},
    {"cycle-time-ms", "CYCLE_TIME"},
    {"cache-capacity", "CACHE_CAPACITY"},
    {"hierarchical-allreduce", "HIERARCHICAL_ALLREDUCE", Form::kFlag},
    {"hierarchical-allgather", "HIERARCHICAL_ALLGATHER", Form::kFlag},
    {"torus-allreduce", "TORUS_ALLREDUCE", Form::kFlag},
    {"autotune", "AUTOTUNE", Form::kFlag},
    {"autotune-log-file", "AUTOTUNE_LOG"},
    {"autotune-warmup-samples", "AUTOTUNE_WARMUP_SAMPLES"},
    {"autotune-steps-per-sample", "AUTOTUNE_STEPS_PER_SAMPLE"},
    {"autotune-bayes-opt-max-samples", "AUTOTUNE_BAYES_OPT_MAX_SAMPLES"},
    {"autotune-gaussian-process-noise", "AUTOTUNE_GAUSSIAN_PROCESS_NOISE"},
    {"timeline-filename", "TIMELINE"},
    {"timeline-mark-cycles", "TIMELINE_MARK_CYCLES", Form::kFlag},
    {"stall-check", "STALL_CHECK_DISABLE", Form::kOppositeFlag},
    {"stall-check-warning-time-seconds", "STALL_CHECK_TIME_SECONDS"},
    {"stall-check-shutdown-time-seconds", "STALL_SHUTDOWN_TIME_SECONDS"},
    {"num-nccl-streams", "NUM_NCCL_STREAMS"},
    {"thread-affinity", "THREAD_AFFINITY"},
    {"log-level", "LOG_LEVEL"},
    {"log-with-timestamp", "LOG_HIDE_TIME", Form::kOppositeFlag},
};

std::string ValueOf(const Configuration& configuration, const std::string& key, Form form) {
  switch (form) {
    case Form::kText:
      break;
    case Form::kMegabytes:
      return absl::StrCat(configuration.GetNumber(key) * kBytesInMegabyte);
    case Form::kFlag:
      return configuration.GetBoolean(key) ? "1" : "0";
    case Form::kOppositeFlag:
      return configuration.GetBoolean(key) ? "0" : "1";
  }
  if (FindKey(key)->key->type == ValueType::kList) {
    return absl::StrJoin(configuration.GetList(key), ",");
  }
  return configuration.GetText(key);
}

// Whether the key has a value, and a valid one. CheckKeys() reports invalid values.
bool IsSet(const Configuration& configuration, const std::string& key) {
  const Entry* const entry = configuration.Find(key);
  return entry != nullptr && !entry->Value().empty() &&
         !CheckValue(*FindKey(key)->key, entry->Value());
}

/// Gloo's timeout in elastic jobs, where none is set.
constexpr int64_t kElasticGlooSeconds = 60;
/// The time that a process waits for its next place beyond the driver's own patience, so that the
/// driver fails first: its message names what is missing. Only tony.collective observes this limit;
/// Horovod's processes wait for ever.
constexpr std::chrono::seconds kDriversWord{30};

std::optional<core::ElasticSettings> BuildElastic(const Configuration& configuration) {
  const int64_t least = configuration.GetNumber("tony.worker.min-instances");
  if (least < 1) return std::nullopt;
  core::ElasticSettings elastic;
  elastic.least = static_cast<int>(least);
  elastic.first = static_cast<int>(configuration.GetNumber("tony.worker.instances"));
  elastic.resets = static_cast<int>(configuration.GetNumber("tony.horovod.reset-limit"));
  elastic.patience = configuration.GetDuration("tony.horovod.elastic-timeout-sec");
  elastic.cooldown = configuration.GetDuration("tony.horovod.host-cooldown-ms");
  elastic.cooldown_max = configuration.GetDuration("tony.horovod.host-cooldown-max-ms");
  return elastic;
}

}  // namespace

core::HorovodSettings BuildHorovodSettings(const Configuration& configuration) {
  core::HorovodSettings horovod;
  horovod.own_driver = HorovodDriverOf(configuration) == HorovodDriver::kUsers;
  horovod.driver_start = configuration.GetDuration("tony.horovod.driver.start-timeout-ms");
  horovod.rendezvous = configuration.GetDuration("tony.horovod.rendezvous-timeout-ms");
  horovod.network_interfaces =
      absl::StrJoin(configuration.GetList("tony.horovod.network-interfaces"), ",");
  horovod.elastic = BuildElastic(configuration);
  // In an elastic job, a process that waits for a lost one must notice the loss soon and join the
  // next round, so Gloo's timeout is shorter by default.
  const bool notice = horovod.elastic && !configuration.IsSet("tony.horovod.gloo-timeout-sec");
  horovod.variables["HOROVOD_GLOO_TIMEOUT_SECONDS"] = absl::StrCat(
      notice ? kElasticGlooSeconds : configuration.GetNumber("tony.horovod.gloo-timeout-sec"));
  if (horovod.elastic) {
    horovod.variables["HOROVOD_ELASTIC_TIMEOUT"] =
        absl::StrCat(std::chrono::ceil<std::chrono::seconds>(horovod.elastic->patience).count() +
                     kDriversWord.count());
  }
  for (const Variable& variable : kVariables) {
    const std::string key = absl::StrCat("tony.horovod.", variable.key);
    if (!IsSet(configuration, key)) continue;
    horovod.variables[absl::StrCat("HOROVOD_", variable.name)] =
        ValueOf(configuration, key, variable.form);
  }
  // The key is case-insensitive; the variable has the form that `horovodrun` gives it.
  const auto level = horovod.variables.find("HOROVOD_LOG_LEVEL");
  if (level != horovod.variables.end()) absl::AsciiStrToUpper(&level->second);
  return horovod;
}

}  // namespace tony::jobfile
