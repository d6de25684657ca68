// The executor's regular signs of life: heartbeats, measurements, and who listens on the task's
// ports.
#include <algorithm>

#include <unistd.h>

#include "common/logging.h"
#include "executor/executor.h"
#include "os/process_tree.h"
#include "rpc/convert.h"
#include "rpc/utf8.h"

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
  if (LeaseExpired()) {
    if (!shutting_down_) AskAnew();
    return;
  }
  // Before it is sent, and so before anybody can count from it.
  RenewLease(clock_.Now());
  v1::ExecutorMessage message;
  message.mutable_heartbeat();
  Send(std::move(message));
}

void Executor::RenewLease(TimePoint at) {
  if (assignment_.lease_ms() <= 0) return;
  lease_end_ = at + milliseconds(assignment_.lease_ms());
  // A keeper that was killed has taken the program along.
  (void)keeper_.RenewLease(lease_end_);
}

void Executor::AskAnew() {
  LogWarning(
      "this executor gave no sign of life for so long that it may count as lost; its program is "
      "suspended until the ApplicationMaster says that the task is still its own");
  connection_->Reopen();
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
  if (measuring_gpus_) return;
  measuring_gpus_ = true;
  if (gpu_reader_.joinable()) gpu_reader_.join();
  // nvidia-smi may take seconds, for which the loop must not wait.
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

void Executor::ReportStrangers() {
  const auto own = [this] {
    return os::TreeMembers(keeper_.pid(), getpid(), options_.container_id);
  };
  for (const Stranger& stranger : ports_.Strangers(own)) {
    v1::ExecutorMessage message;
    v1::PortTaken* taken = message.mutable_port_taken();
    taken->set_epoch(run_.epoch);
    taken->set_port(stranger.port);
    taken->set_holder(rpc::ToUtf8(stranger.description));
    Send(std::move(message));
  }
}

}  // namespace tony::executor
