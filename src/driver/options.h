// What tony-driver is told on its command line by its executor.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/rendezvous/elastic_rounds.h"
#include "core/rendezvous/slot_plan.h"

namespace tony::driver {

struct Options {
  std::vector<core::HostSlots> workers;  ///< "host:2,other:1"; of an elastic job: none
  /// One for each process, by rank: "worker:0,worker:2"; of an elastic job: none.
  std::vector<std::string> tasks;
  /// Of an elastic job, whose members come through a file.
  std::optional<core::ElasticPolicy> elastic;
  std::string host;           ///< Horovod's name of this one; of an elastic job
  std::string output_folder;  ///< where the plan is written
  int replica_port = 0;       ///< of 127.0.0.1, for replicas; reserved by the executor
  std::chrono::milliseconds rendezvous{0};  ///< from the first rank that waits to the last
};

/// How many all hosts have together.
int Processes(const std::vector<core::HostSlots>& workers);

/// `arguments` begins with the program's name. InvalidArgument – a flag is missing or unknown, or
/// its value is none.
absl::StatusOr<Options> ParseOptions(const std::vector<std::string>& arguments);

}  // namespace tony::driver
