// The commands of `tony exec` that run beside the task's program.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "executor/exec/exec_session.h"
#include "os/containment/keeper.h"

namespace tony::executor {

/// Starts commands while a program runs, and passes the keeper's events to them. Not thread safe:
/// owned by the event loop.
class ExecSessions {
 public:
  /// The most commands at once.
  static constexpr size_t kMostCommands = 8;

  /// `keeper` must outlive this.
  ExecSessions(EventLoop& loop, os::Keeper& keeper) : loop_(loop), keeper_(keeper) {}

  /// The program of this task is about to run.
  void OnTaskStart(ExecTask task) { task_ = std::move(task); }
  /// The program has ended.
  void OnTaskEnded();

  /// Runs a command, which answers through `dial`. FailedPrecondition – no program runs.
  /// ResourceExhausted – too many commands run. Otherwise the codes of ExecSession::Start(). After
  /// an error, `dial` is not called.
  absl::Status Open(const v1::ExecWish& wish, ExecSession::Dial dial);

  /// Takes an event of the keeper.
  void On(const os::KeeperExecStarted& event);
  void On(const os::KeeperExecFailed& event);
  void On(const os::KeeperExecExited& event);

  /// Called when no process of the container is left. `done` follows when all clients have heard of
  /// their command's end, perhaps from within the call.
  void Finish(std::function<void()> done);

 private:
  ExecSession* Find(int number);
  void Forget(int number);

  EventLoop& loop_;
  os::Keeper& keeper_;
  ExecTask task_;
  int last_number_ = 0;
  std::list<std::unique_ptr<ExecSession>> sessions_;
  std::function<void()> done_;
  Lifetime lifetime_;  ///< last: posted calls of sessions use the members above
};

}  // namespace tony::executor
