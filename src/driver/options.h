// The command line of tony-driver, as its executor fills it in.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logging.h"
#include "core/rendezvous/elastic_rounds.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::driver {

struct Options {
  std::vector<core::HostSlots> workers;  ///< "host:2,other:1"; empty for an elastic job
  /// The task of each process, by rank: "worker:0,worker:2"; empty for an elastic job.
  std::vector<std::string> tasks;
  /// Set for an elastic job, whose members come through a file.
  std::optional<core::ElasticPolicy> elastic;
  std::string host;           ///< Horovod's name of this host; of an elastic job
  std::string output_folder;  ///< folder for the plan and the other reports
  int replica_port = 0;       ///< port on 127.0.0.1 for replicas; reserved by the executor
  LogLevel log_level = LogLevel::kInfo;
  std::chrono::milliseconds rendezvous{0};  ///< limit from the first rank that waits to the last
};

/// Returns the number of processes on all hosts together.
int Processes(const std::vector<core::HostSlots>& workers);

/// `arguments` begins with the program's name. InvalidArgument – a flag is missing or unknown, or
/// its value is invalid.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace tony::driver
