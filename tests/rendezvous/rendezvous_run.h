// A whole rendezvous: light workers, each on a thread, against a server on the test's thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "core/rendezvous/slot_plan.h"
#include "tests/common/loop_driver.h"
#include "tests/rendezvous/gloo_worker.h"

namespace tony::rendezvous {

struct RendezvousRun {
  std::vector<absl::Status> results;  ///< by rank
  RequestCounts counts;               ///< of all ranks
  std::chrono::microseconds time{};
  std::chrono::microseconds server_cpu{};  ///< of the loop's thread
};

/// The behaviour of a rank in a run.
struct RankRole {
  int port = 0;  ///< of its server
  bool comes = true;
  bool reads = true;
  size_t least_bytes = 0;  ///< of its addresses; see GlooWorker
};

/// The servers' loop is `driver`'s. Returns when all ranks have ended.
RendezvousRun RunRendezvous(LoopDriver& driver, const std::vector<core::Slot>& plan,
                            const ClientOptions& options,
                            const std::function<RankRole(const core::Slot&)>& role_of);

/// The requests of Horovod's ranks in all of their contexts, if none is repeated: GET, PUT, DELETE.
RequestCounts ExpectedRequests(const std::vector<core::Slot>& plan);

}  // namespace tony::rendezvous
