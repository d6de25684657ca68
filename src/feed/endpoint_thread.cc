// The endpoint belongs to the thread from its start to its end; it is opened before and destroyed
// after.
#include "feed/endpoint_thread.h"

#include <system_error>
#include <utility>

#include "common/status_macros.h"

namespace tony::feed {

absl::StatusOr<std::unique_ptr<EndpointThread>> EndpointThread::Start(EndpointSetting setting) {
  std::unique_ptr<EndpointThread> started(new EndpointThread());
  TONY_ASSIGN_OR_RETURN(started->endpoint_,
                        Endpoint::Open(started->loop_, started->clock_, std::move(setting)));
  started->program_path_ = started->endpoint_->program_path();
  started->producer_path_ = started->endpoint_->producer_path();
  started->tls_port_ = started->endpoint_->tls_port();
  try {
    started->thread_ = std::thread([loop = &started->loop_] { loop->Run(); });
  } catch (const std::system_error&) {
    return absl::ResourceExhaustedError(
        "no thread can be started for the feed (raise the limit of processes, ulimit -u or the "
        "container's pids.max)");
  }
  return started;
}

EndpointThread::~EndpointThread() {
  loop_.Stop();
  if (thread_.joinable()) thread_.join();
}

void EndpointThread::Post(std::function<void(Endpoint&)> function) {
  loop_.Post([this, function = std::move(function)] { function(*endpoint_); });
}

}  // namespace tony::feed
