// The page of a made job with many tasks, for bench/page: the ApplicationMaster's own page and API,
// fed with events and measurements as executors would send them, without the executors.
//
//   page-server TASKS
//
// Prints the page's address in a line, which is good for one visit, and serves until its standard
// input ends. All tasks run; each second the measurement of each changes.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "appmaster/page/job_page.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/metrics/job_metrics.h"
#include "pagedata/folder_job_logs.h"
#include "pagedata/folder_logs.h"
#include "rpc/convert/convert.h"
#include "rpc/services/event_log.h"

namespace tony {
namespace {

constexpr char kJobId[] = "made-1";
constexpr int kFailedPart = 100;  ///< one of so many tasks has failed once before
constexpr int kHosts = 50;

/// The job and its past.
class MadeJob {
 public:
  explicit MadeJob(int tasks) : tasks_(tasks), metrics_({.types = {{"worker", tasks}}}) {
    core::JobSubmitted submitted;
    submitted.job_id = kJobId;
    submitted.name = "made";
    submitted.user = "nobody";
    submitted.types = {{.name = "worker", .instances = tasks, .memory_mb = 4096, .vcores = 2}};
    Add(std::move(submitted), -60'000);
    Add(core::JobStateChanged{core::JobState::kAllocating, 0, ""}, -59'900);
    for (int i = 0; i < tasks; ++i) Move(i, core::TaskState::kStarting, 1, -59'000 + i % 997);
    for (int i = 0; i < tasks; i += kFailedPart) Move(i, core::TaskState::kFailed, 1, -50'000);
    Add(core::EpochOpened{.epoch = 1, .cause = "worker:0 exited with code 1"}, -49'900);
    for (int i = 0; i < tasks; ++i) {
      const int attempt = i % kFailedPart == 0 ? 2 : 1;
      Move(i, core::TaskState::kReady, attempt, -40'000 + i % 1009);
      Move(i, core::TaskState::kRunning, attempt, -30'000 + i % 13);
    }
    Add(core::JobStateChanged{core::JobState::kRunning, 1, ""}, -29'000);
  }

  /// What all tasks use in this second.
  void Measure() {
    ++second_;
    for (int i = 0; i < tasks_; ++i) {
      core::TaskMeasured measured{.task = {"worker", i}, .usage = UsageOf(i)};
      measured.attempt = i % kFailedPart == 0 ? 2 : 1;
      metrics_.Take(measured.task, measured.attempt, measured.usage, clock_.UnixMillis());
      log_.ShowMeasurement(rpc::ToProto(core::JobEvent{0, clock_.UnixMillis(), measured}));
    }
    metrics_.AddBands(clock_.UnixMillis());
  }

  rpc::EventLog& log() { return log_; }
  const core::JobMetrics& metrics() const { return metrics_; }

 private:
  core::TaskUsage UsageOf(int task) const {
    const double wave = std::sin(second_ * 0.1 + task);
    core::TaskUsage usage;
    usage.seconds = second_;
    usage.cpu_seconds = second_ * (1.5 + 0.2 * (task % 3));
    usage.memory_bytes = static_cast<int64_t>((2.0 + wave) * (1 << 30));
    usage.max_memory_bytes = int64_t{3} << 30;
    usage.read_bytes = int64_t{second_} * 1'000'000;
    usage.write_bytes = int64_t{second_} * 10'000;
    usage.processes = 9;
    usage.descriptors = 40;
    usage.gpu_utilization = 70 + 20 * wave;
    usage.gpu_memory_bytes = int64_t{20} << 30;
    core::Progress progress;
    progress.step = int64_t{second_} * 3;
    progress.steps_per_second = 3 + 0.1 * wave;
    progress.step_seconds = 0.33;
    progress.idle_seconds = 0.1;
    progress.values["loss"] = 1.0 / (1 + second_) + 0.01 * wave;
    usage.progress = std::move(progress);
    return usage;
  }

  void Move(int task, core::TaskState state, int attempt, int64_t millis) {
    core::TaskChanged change;
    change.task = {"worker", task};
    change.state = state;
    change.attempt = attempt;
    change.container = "made-1-c" + std::to_string(task);
    change.host = "node" + std::to_string(task % kHosts);
    change.pid = state == core::TaskState::kRunning ? 1000 + task : 0;
    Add(std::move(change), millis);
  }
  /// `millis`: from now.
  void Add(core::JobEventBody body, int64_t millis) {
    log_.Append(rpc::ToProto(core::JobEvent{++sequence_, begin_ + millis, std::move(body)}));
  }

  const int tasks_;
  const SystemClock clock_;
  const int64_t begin_ = clock_.UnixMillis();
  int64_t sequence_ = 0;
  int second_ = 0;
  rpc::EventLog log_;
  core::JobMetrics metrics_;
};

int Serve(int tasks) {
  EventLoop loop;
  const SystemClock clock;
  const storage::JobFolder folder("/nonexistent");
  MadeJob job(tasks);
  appmaster::LocalPageEntry entry({loop, clock, job.log(), job.metrics()}, kJobId, [&] {
    return appmaster::PageLogs{std::make_unique<pagedata::FolderLogs>(folder),
                               std::make_unique<pagedata::FolderJobLogs>(loop, clock, folder)};
  });
  const absl::StatusOr<std::string> address = entry.Invite();
  if (!address.ok()) {
    std::fprintf(stderr, "page-server: %s\n", std::string(address.status().message()).c_str());
    return 1;
  }
  std::printf("%s\n", address->c_str());
  std::fflush(stdout);
  std::unique_ptr<EventLoop::Handle> next;
  std::function<void()> measure = [&] {
    job.Measure();
    next = loop.After(std::chrono::seconds(1), measure);
  };
  measure();
  const auto input = loop.WatchReadable(STDIN_FILENO, [&] { loop.Stop(); });
  loop.Run();
  return 0;
}

}  // namespace
}  // namespace tony

int main(int argc, char** argv) {
  int tasks = 0;
  if (argc != 2 || !absl::SimpleAtoi(argv[1], &tasks) || tasks < 1) {
    std::fprintf(stderr, "usage: page-server TASKS\n");
    return 2;
  }
  return tony::Serve(tasks);
}
