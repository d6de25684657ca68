// Parses flags of the form "--name=value". A job has either a fixed list of workers or an elastic
// policy, never both.
#include "driver/options.h"

#include <cstdint>
#include <numeric>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/port_number.h"
#include "common/status_macros.h"
#include "core/rendezvous/worker_hosts.h"

namespace tony::driver {
namespace {

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
    return absl::InvalidArgumentError(
        absl::StrCat("--elastic=", text, ": not of the form LEAST:MOST:RESETS:PATIENCE-MS"));
  }
  policy.patience = std::chrono::milliseconds(millis);
  return policy;
}

}  // namespace

int Processes(const std::vector<core::HostSlots>& workers) {
  return std::accumulate(workers.begin(), workers.end(), 0,
                         [](int sum, const core::HostSlots& host) { return sum + host.slots; });
}

absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments) {
  std::string workers, tasks, output, port, rendezvous, elastic, host;
  std::string log_level = LogLevelName(LogLevel::kInfo);
  for (size_t i = 1; i < arguments.size(); ++i) {
    const auto take = [&](const std::string& name, std::string& target) {
      const std::string prefix = absl::StrCat("--", name, "=");
      if (!absl::StartsWith(arguments[i], prefix)) return false;
      target = arguments[i].substr(prefix.size());
      return true;
    };
    if (!take("workers", workers) && !take("tasks", tasks) && !take("elastic", elastic) &&
        !take("host", host) && !take("output", output) && !take("replica-port", port) &&
        !take("rendezvous-timeout-ms", rendezvous) && !take("log-level", log_level)) {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument ", arguments[i]));
    }
  }
  if (workers.empty() == elastic.empty() || workers.empty() != tasks.empty() || output.empty() ||
      port.empty() || rendezvous.empty()) {
    return absl::InvalidArgumentError(
        "tony-driver is started by tony, with --workers= and --tasks=, or with --elastic=, and "
        "with "
        "--output=, --replica-port= and --rendezvous-timeout-ms=");
  }
  Options options;
  TONY_ASSIGN_OR_RETURN(options.log_level, ParseLogLevel(log_level));
  options.output_folder = output;
  options.host = host;
  if (elastic.empty()) {
    TONY_ASSIGN_OR_RETURN(options.workers, core::ParseWorkerList(workers));
    options.tasks = absl::StrSplit(tasks, ',');
    if (static_cast<int>(options.tasks.size()) != Processes(options.workers)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--tasks=", tasks, ": not one for each process of --workers=", workers));
    }
  } else {
    TONY_ASSIGN_OR_RETURN(options.elastic, ParseElastic(elastic));
  }
  if (!absl::SimpleAtoi(port, &options.replica_port) || options.replica_port < 1 ||
      options.replica_port > kLargestPort) {
    return absl::InvalidArgumentError(absl::StrCat("--replica-port=", port, ": not a port"));
  }
  int64_t millis = 0;
  if (!absl::SimpleAtoi(rendezvous, &millis) || millis < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rendezvous-timeout-ms=", rendezvous, ": not a number of milliseconds"));
  }
  options.rendezvous = std::chrono::milliseconds(millis);
  return options;
}

}  // namespace tony::driver
