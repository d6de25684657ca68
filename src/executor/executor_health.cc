// The part of the executor that watches: heartbeats and the lease they renew, measurements,
// strangers that listen on the task's ports, and the process to which it is tied.
#include <algorithm>

#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/model/lease.h"
#include "executor/executor.h"
#include "executor/task/collective_counters.h"
#include "logs/bounded_log.h"
#include "os/processes/process_tree.h"

namespace tony::executor {

using std::chrono::milliseconds;

void Executor::BeatLater() {
  const milliseconds pause(std::max(10, assignment_.heartbeat_interval_ms()));
  heartbeat_timer_ = loop_.After(core::NextHeartbeat(pause, clock_.UnixMillis()), [this] {
    Beat();
    BeatLater();
  });
}

void Executor::Beat() {
  // A failure is ignored: it would be reported again with every heartbeat.
  (void)logs::BoundLog(STDERR_FILENO, STDOUT_FILENO);
  // While in doubt, the next heartbeat is sent only after the previous one was answered, so that an
  // overloaded ApplicationMaster gets no more of them than it can answer.
  if (NoticeDoubt() && lease_.awaits_answer()) return;
  v1::ExecutorMessage heartbeat = HeartbeatMessage(lease_.SentHeartbeat());
  unsent_usages_.MoveTo(*heartbeat.mutable_heartbeat(), clock_.Now());
  Send(heartbeat);
  ReportVisualization();
}

void Executor::OnHeartbeatAnswer(const v1::HeartbeatAnswer& answer) {
  if (lease_.Renew(TimePoint(std::chrono::nanoseconds(answer.sent())))) ExtendLease();
  if (!lease_.ShouldAsk()) return;
  LogInfo("heartbeats are answered again: asking whether the task is still this executor's",
          {{"epoch", held_.epoch}, {"attempt", held_.attempt}});
  Send(Hello());
}

void Executor::ExtendLease() {
  // The result is ignored: a keeper that was killed has taken the program with it.
  (void)keeper_.RenewLease(lease_.end());
}

bool Executor::NoticeDoubt() {
  if (shutting_down_ || !lease_.expired()) return lease_.in_doubt();
  connection_->AwaitSign();
  if (!lease_.BeginDoubt()) return true;
  LogWarning(
      "the ApplicationMaster has answered no sign of life for so long that this executor may "
      "count as lost; its program is suspended until it is heard that the task is still its own",
      {{"epoch", held_.epoch}, {"attempt", held_.attempt}, {"peer", connection_->address()}});
  return true;
}

// TreeMembers() reads the whole process tree; TaskPorts asks for it only when
// somebody listens on a reserved port.
void Executor::ReportStrangers(bool program_runs) {
  const auto own = [this] {
    return os::TreeMembers(keeper_.pid(), getpid(), options_.container_id);
  };
  for (const Stranger& stranger : ports_.Strangers(program_runs, own)) {
    LogWarning("a stranger listens on a reserved port",
               {{"epoch", run_.epoch}, {"port", stranger.port}, {"holder", stranger.description}});
    Send(PortTakenMessage(run_.epoch, stranger.port, stranger.description));
  }
}

void Executor::OnUsage(core::TaskUsage usage) {
  usage.progress = process_.progress();
  usage.printed_bytes = process_.printed_bytes();
  const auto silence = silence_.OnUsage(process_.last_output(), usage.cpu_seconds, clock_.Now());
  if (silence) Send(SilentMessage(run_, silence->millis, silence->cpu_share));
  unsent_usages_.Add(std::move(usage), clock_.Now());
  if (unsent_usages_.IsDue(clock_.Now())) SendMeasurements();
}

void Executor::SendMeasurements() {
  if (const auto message = unsent_usages_.TakeMessage(clock_.Now())) Send(*message);
}

// The end of a run is not reported here: the ApplicationMaster knows that nothing listens then.
void Executor::ReportVisualization() {
  if (held_.phase != core::input::HeldTask::Phase::kRunning) return;
  const bool listens = ports_.VisualizationListens();
  if (listens == visualization_listens_) return;
  visualization_listens_ = listens;
  LogDebug(listens ? "the visualization port has a listener" : "the visualization port has none",
           {{"epoch", run_.epoch}, {"port", ports_.visualization_port()}});
  Send(VisualizationMessage(run_, listens));
}

void Executor::ReportStall() {
  std::string stall = ReadCollectiveStall(identity_.counters_folder);
  if (stall == stall_) return;
  stall_ = std::move(stall);
  Send(StallMessage(run_, stall_));
}

void Executor::TieToProcess() {
  if (options_.tied_to_pid == 0) return;
  absl::StatusOr<std::unique_ptr<Tie>> tie =
      Tie::To(loop_, options_.tied_to_pid, options_.tied_to_start, [this] { OnTieEnded(); });
  if (!tie.ok()) {
    LogWarning(std::string(tie.status().message()), {{"pid", options_.tied_to_pid}});
    return loop_.Post([this] { OnTieEnded(); });
  }
  tie_ = *std::move(tie);
}

// The program has no grace: its resources were those of the other process, and are no longer this
// executor's.
void Executor::OnTieEnded() {
  if (shutting_down_) return;
  hung_ =
      absl::StrCat("process ", options_.tied_to_pid, ", to which its executor is tied, has ended");
  assignment_.set_kill_grace_ms(0);
  ShutDown(1, hung_);
}

void Executor::EndHung(const std::string& why) {
  LogError(why);
  hung_ = why;
  process_.Kill(milliseconds(0));
}

}  // namespace tony::executor
