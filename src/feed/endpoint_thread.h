// Runs an endpoint on a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "feed/endpoint.h"

namespace tony::feed {

/// The endpoint has a thread and a loop to itself: receiving and decrypting data takes all of a
/// processor for as long as producers are fast, and the executor's loop has heartbeats to send and
/// the program's output to carry meanwhile. Thread safe, apart from construction and destruction.
class EndpointThread {
 public:
  /// Opens the endpoint, then starts the thread. The codes of Endpoint::Open(); ResourceExhausted –
  /// no thread can be started.
  static absl::StatusOr<std::unique_ptr<EndpointThread>> Start(EndpointSetting setting);
  /// Closes all connections.
  ~EndpointThread();

  /// Runs `function` on the endpoint's thread.
  void Post(std::function<void(Endpoint&)> function);

  /// As the endpoint's functions; they never change.
  const std::string& program_path() const { return program_path_; }
  const std::string& producer_path() const { return producer_path_; }
  int tls_port() const { return tls_port_; }

 private:
  EndpointThread() = default;

  SystemClock clock_;
  EventLoop loop_;
  std::unique_ptr<Endpoint> endpoint_;
  std::string program_path_;
  std::string producer_path_;
  int tls_port_ = 0;
  std::thread thread_;
};

}  // namespace tony::feed
