// Commands are numbered, because the keeper's events may come when a command's client has long
// gone.
#include "executor/exec/exec_sessions.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::executor {

void ExecSessions::OnTaskEnded() {
  for (const auto& session : sessions_) session->OnTaskEnded();
}

absl::Status ExecSessions::Open(const v1::ExecWish& wish, ExecSession::Dial dial) {
  if (sessions_.size() >= kMostCommands) {
    return absl::ResourceExhaustedError(absl::StrCat(kMostCommands,
                                                     " commands of tony exec run in ", task_.name,
                                                     ", and no more may at once; end one of them"));
  }
  const int number = ++last_number_;
  auto session = std::make_unique<ExecSession>(loop_, keeper_, number, std::move(dial),
                                               lifetime_.Guard([this, number] { Forget(number); }));
  TONY_RETURN_IF_ERROR(session->Start(wish, task_));
  sessions_.push_back(std::move(session));
  return absl::OkStatus();
}

void ExecSessions::On(const os::KeeperExecStarted& event) {
  if (ExecSession* session = Find(event.exec)) session->OnStarted();
}

void ExecSessions::On(const os::KeeperExecFailed& event) {
  if (ExecSession* session = Find(event.exec)) session->OnFailed(event);
}

void ExecSessions::On(const os::KeeperExecExited& event) {
  if (ExecSession* session = Find(event.exec)) session->OnExited(event);
}

void ExecSessions::Finish(std::function<void()> done) {
  done_ = std::move(done);
  if (sessions_.empty()) std::exchange(done_, nullptr)();
}

ExecSession* ExecSessions::Find(int number) {
  for (const auto& session : sessions_) {
    if (session->number() == number) return session.get();
  }
  return nullptr;
}

void ExecSessions::Forget(int number) {
  sessions_.remove_if([number](const auto& session) { return session->number() == number; });
  if (sessions_.empty() && done_) std::exchange(done_, nullptr)();
}

}  // namespace tony::executor
