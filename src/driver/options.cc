// The table of tony-driver's options. A job has either a fixed list of workers or an elastic
// policy, never both.
#include "driver/options.h"

#include <cstdint>
#include <iterator>
#include <numeric>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/command_line.h"
#include "common/option_store.h"
#include "common/port_number.h"
#include "common/status_macros.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::driver {
namespace {

constexpr char kUsage[] =
    "tony-driver is started by tony, with --workers= and --tasks=, or with --elastic=, and with "
    "--output=, --replica-port= and --rendezvous-timeout-ms=";

/// "LEAST:MOST:RESETS:PATIENCE-MS"
absl::StatusOr<core::ElasticPolicy> ParseElastic(const std::string& text) {
  core::ElasticPolicy policy;
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  int64_t millis = 0;
  if (parts.size() != 4 || !absl::SimpleAtoi(parts[0], &policy.size.least) ||
      !absl::SimpleAtoi(parts[1], &policy.size.most) ||
      !absl::SimpleAtoi(parts[2], &policy.resets) || !absl::SimpleAtoi(parts[3], &millis) ||
      policy.size.least < 1 || policy.size.most < policy.size.least || policy.resets < 0 ||
      millis < 1) {
    return absl::InvalidArgumentError("not of the form LEAST:MOST:RESETS:PATIENCE-MS");
  }
  policy.patience = std::chrono::milliseconds(millis);
  return policy;
}

OptionTable TableOf(Options& options) {
  return {
      {.name = "workers",
       .value = "HOST:PROCESSES,…",
       .meaning = "the hosts of a fixed job, each with its number of processes",
       .store = StoreParsed(options.workers, &core::ParseWorkerList)},
      {.name = "tasks",
       .value = "TASK,…",
       .meaning = "the task of each process of --workers, by rank",
       .store = StoreList(options.tasks, ',')},
      {.name = "elastic",
       .value = "LEAST:MOST:RESETS:PATIENCE-MS",
       .meaning = "the policy of an elastic job, whose members come through a file",
       .store = StoreParsed(options.elastic, &ParseElastic)},
      {.name = "host",
       .value = "HOST",
       .meaning = "Horovod's name of this host; for an elastic job",
       .store = StoreText(options.host)},
      {.name = "output",
       .value = "FOLDER",
       .meaning = "the folder for the plan and the other reports",
       .required = true,
       .store = StoreText(options.output_folder)},
      {.name = "replica-port",
       .value = "PORT",
       .meaning = "the port on 127.0.0.1 for replicas",
       .required = true,
       .store = StoreNumber(options.replica_port, "a port", 1, kLargestPort)},
      {.name = "rendezvous-timeout-ms",
       .value = "NUMBER",
       .meaning = "the limit in milliseconds from the first rank that waits to the last",
       .required = true,
       .store = StoreMilliseconds(options.rendezvous, 1)},
      {.name = "log-level",
       .value = "LEVEL",
       .meaning = "the lowest level that is logged",
       .store = StoreParsed(options.log_level, &ParseLogLevel)},
  };
}

}  // namespace

int Processes(const std::vector<core::HostSlots>& workers) {
  return std::accumulate(workers.begin(), workers.end(), 0,
                         [](int sum, const core::HostSlots& host) { return sum + host.slots; });
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  TONY_RETURN_IF_ERROR(tony::ParseOptions(TableOf(options),
                                          {std::next(arguments.begin()), arguments.end()}, kUsage));
  const bool fixed = !options.workers.empty();
  if (fixed == options.elastic.has_value() || fixed == options.tasks.empty()) {
    return absl::InvalidArgumentError(kUsage);
  }
  if (fixed && static_cast<int>(options.tasks.size()) != Processes(options.workers)) {
    const auto append_host = [](std::string* text, const core::HostSlots& host) {
      absl::StrAppend(text, host.host, ":", host.slots);
    };
    return absl::InvalidArgumentError(absl::StrCat(
        "--tasks=", absl::StrJoin(options.tasks, ","), ": not one for each process of --workers=",
        absl::StrJoin(options.workers, ",", append_host)));
  }
  return options;
}

}  // namespace tony::driver
