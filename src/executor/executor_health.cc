// The part of the executor that runs on timers: heartbeats and the lease they renew, measurements,
// and the search for strangers that listen on the task's ports.
#include <algorithm>

#include <unistd.h>

#include "common/logging.h"
#include "executor/executor.h"
#include "logs/bounded_log.h"
#include "os/processes/process_tree.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"

namespace tony::executor {

using std::chrono::milliseconds;

void Executor::BeatLater() {
  const milliseconds interval(std::max(10, assignment_.heartbeat_interval_ms()));
  heartbeat_timer_ = loop_.After(interval, [this] {
    Beat();
    BeatLater();
  });
}

void Executor::Beat() {
  // A failure is ignored: it would be reported again with every heartbeat.
  (void)logs::BoundLog(STDERR_FILENO, STDOUT_FILENO);
  // While in doubt, the next heartbeat is sent only after the previous one was answered, so that an
  // overloaded ApplicationMaster gets no more of them than it can answer.
  if (NoticeDoubt() && beat_at_ > renewed_from_) return;
  beat_at_ = clock_.Now();
  v1::ExecutorMessage message;
  message.mutable_heartbeat()->set_sent(beat_at_.time_since_epoch().count());
  Send(std::move(message));
}

void Executor::OnHeartbeatAnswer(const v1::HeartbeatAnswer& answer) {
  RenewLease(TimePoint(std::chrono::nanoseconds(answer.sent())));
  // The answer came in time, so the answer to a hello sent now is likely to come in time, too.
  if (doubt_ != Doubt::kInDoubt || LeaseExpired()) return;
  LogInfo("heartbeats are answered again: asking whether the task is still this executor's",
          {{"epoch", held_.epoch}, {"attempt", held_.attempt}});
  doubt_ = Doubt::kAsked;
  Send(Hello());
}

// The lease counts from the sending of the heartbeat, not from the arrival of its answer: the time
// that the answer was on its way must not lengthen the lease.
void Executor::RenewLease(TimePoint at) {
  if (assignment_.lease_ms() <= 0 || at <= renewed_from_) return;
  renewed_from_ = at;
  lease_end_ = at + milliseconds(assignment_.lease_ms());
  // The result is ignored: a keeper that was killed has taken the program with it.
  (void)keeper_.RenewLease(lease_end_);
}

// Doubt begins when an expired lease is first noticed, and ends only with a confirmation
// (OnReattached()): a lease that is merely renewed does not prove that the task was not given away
// meanwhile.
bool Executor::NoticeDoubt() {
  if (shutting_down_ || !LeaseExpired()) return doubt_ != Doubt::kNone;
  connection_->AwaitSign();
  if (doubt_ == Doubt::kNone) {
    doubt_ = Doubt::kInDoubt;
    LogWarning(
        "the ApplicationMaster has answered no sign of life for so long that this executor may "
        "count as lost; its program is suspended until it is heard that the task is still its own",
        {{"epoch", held_.epoch}, {"attempt", held_.attempt}, {"peer", connection_->address()}});
  }
  return true;
}

void Executor::Measure() {
  if (process_.active()) {
    if (assignment_.gpus_size() > 0) {
      MeasureWithGpus();
    } else {
      v1::ExecutorMessage message;
      *message.mutable_heartbeat()->mutable_usage() = rpc::ToProto(sampler_.Sample({}, {}));
      Send(std::move(message));
    }
    ReportStrangers();
  }
  metrics_timer_ = loop_.After(milliseconds(std::max(100, assignment_.metrics_interval_ms())),
                               [this] { Measure(); });
}

void Executor::MeasureWithGpus() {
  if (measuring_gpus_) return LogDebug("a measurement is left out: the GPU tool still runs");
  measuring_gpus_ = true;
  if (gpu_reader_.joinable()) gpu_reader_.join();
  // nvidia-smi may take seconds, so it runs on a thread of its own and never blocks the loop.
  gpu_reader_ = std::thread([this, tool = assignment_.gpu_tool(),
                             limit = milliseconds(assignment_.gpu_tool_timeout_ms())] {
    os::GpuInventory inventory = os::DetectGpus(tool, limit);
    loop_.Post([this, gpus = std::move(inventory.gpus)] {
      measuring_gpus_ = false;
      if (!process_.active()) return;
      v1::ExecutorMessage message;
      *message.mutable_heartbeat()->mutable_usage() = rpc::ToProto(
          sampler_.Sample(gpus, {assignment_.gpus().begin(), assignment_.gpus().end()}));
      Send(std::move(message));
    });
  });
}

// TreeMembers() reads the whole process tree; TaskPorts asks for it only when
// somebody listens on a reserved port.
void Executor::ReportStrangers() {
  const auto own = [this] {
    return os::TreeMembers(keeper_.pid(), getpid(), options_.container_id);
  };
  for (const Stranger& stranger : ports_.Strangers(own)) {
    LogWarning("a stranger listens on a reserved port",
               {{"epoch", run_.epoch}, {"port", stranger.port}, {"holder", stranger.description}});
    v1::ExecutorMessage message;
    v1::PortTaken* taken = message.mutable_port_taken();
    taken->set_epoch(run_.epoch);
    taken->set_port(stranger.port);
    taken->set_holder(rpc::ToUtf8(stranger.description));
    Send(std::move(message));
  }
}

}  // namespace tony::executor
