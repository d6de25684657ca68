// A connection is known by its cookie: inodes are used again.
#include "executor/task/traffic_counter.h"

#include <algorithm>
#include <utility>

namespace tony::executor {

void TrafficCounter::Update(const std::vector<os::SocketTraffic>& open) {
  std::map<uint64_t, os::SocketTraffic> now;
  for (const os::SocketTraffic& socket : open) now[socket.cookie] = socket;
  for (const auto& [cookie, socket] : open_) {
    if (now.contains(cookie)) continue;
    closed_.sent_bytes += socket.sent_bytes;
    closed_.received_bytes += socket.received_bytes;
  }
  open_ = std::move(now);
  Closed sum = closed_;
  for (const auto& [cookie, socket] : open_) {
    sum.sent_bytes += socket.sent_bytes;
    sum.received_bytes += socket.received_bytes;
  }
  // Bytes that are sent again are subtracted a moment after they were counted, so a connection's
  // own number may go back.
  sent_bytes_ = std::max(sent_bytes_, sum.sent_bytes);
  received_bytes_ = std::max(received_bytes_, sum.received_bytes);
}

}  // namespace tony::executor
