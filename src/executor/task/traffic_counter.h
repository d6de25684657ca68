// Adds up what a task's TCP connections have carried, also those that are closed by now.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "os/network/sock_diag.h"

namespace tony::executor {

/// 1. The kernel's counters are per connection and go with it. So the last ones seen of each
///    connection are kept, and added to the sum of the closed ones when it is no longer there. The
///    sums never shrink.
/// 2. What is missed: a connection that was made and closed between two samples, and what a
///    connection has carried between its last sample and its end.
/// 3. A connection that comes to the task from another process counts as a whole.
/// Its memory is bounded by the connections that are open. Not thread safe.
class TrafficCounter {
 public:
  /// `open`: the task's connections now.
  void Update(const std::vector<os::SocketTraffic>& open);
  int64_t sent_bytes() const { return sent_bytes_; }
  int64_t received_bytes() const { return received_bytes_; }

 private:
  struct Closed {
    int64_t sent_bytes = 0;
    int64_t received_bytes = 0;
  };

  std::map<uint64_t, os::SocketTraffic> open_;  ///< by cookie
  Closed closed_;
  int64_t sent_bytes_ = 0;
  int64_t received_bytes_ = 0;
};

}  // namespace tony::executor
