// Uses os::ForkServer when two or more executors are expected; otherwise starts each one directly.
#include "backend/local/executor_starter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "os/processes/own_program.h"

namespace tony::backend {
namespace {

void LogLost(const absl::Status& why) {
  LogWarning(
      absl::StrCat("executors start one by one, which takes longer: ", std::string(why.message())));
}

}  // namespace

ExecutorStarter::ExecutorStarter(const std::string& program, const std::string& job_id,
                                 int expected) {
  if (expected < 2) return;
  absl::StatusOr<std::unique_ptr<os::ForkServer>> server = os::ForkServer::Start(program, job_id);
  if (server.ok()) {
    server_ = *std::move(server);
  } else {
    LogLost(server.status());
  }
}

absl::StatusOr<os::Subprocess> ExecutorStarter::Start(const os::SubprocessRequest& request) {
  if (server_ == nullptr) return os::StartOwnProgram(request);
  absl::StatusOr<os::Subprocess> forked = server_->Fork(request);
  if (!absl::IsUnavailable(forked.status())) return forked;
  LogLost(forked.status());
  server_.reset();
  return os::StartOwnProgram(request);
}

std::set<pid_t> ExecutorStarter::Helpers() const {
  return server_ == nullptr ? std::set<pid_t>() : std::set<pid_t>{server_->pid()};
}

}  // namespace tony::backend
