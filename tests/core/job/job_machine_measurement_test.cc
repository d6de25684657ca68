// Tests that measurements of heartbeats are shown and then dropped: a run leaves one, however long
// it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/job/job_machine.h"

namespace tony::core {
namespace {

using ::testing::IsEmpty;

constexpr auto kMetricsInterval = std::chrono::seconds(5);  // as it is by default

class MeasurementTest : public ::testing::Test {
 protected:
  // Brings a job of `workers` to where all run.
  void Run(int workers, int retry_count = 0) {
    JobDescription job;
    job.types.resize(1);
    job.types[0].name = "worker";
    job.types[0].instances = workers;
    job.retry_count = retry_count;
    machine_ = std::make_unique<JobMachine>(job);
    Apply(input::Start{1, ""});
    for (int i = 0; i < workers; ++i) {
      Container container;
      container.id = Id(i);
      container.type = "worker";
      container.host = container.host_id = "host";
      Apply(input::ContainerGranted{container});
      Apply(input::ExecutorAttached{Id(i)});
    }
    StartAll(workers, 0);
    ASSERT_EQ(machine_->tasks().count(TaskState::kRunning), workers);
  }
  void StartAll(int workers, int epoch) {
    for (int i = 0; i < workers; ++i) {
      Apply(input::ExecutorRegistered{Id(i), epoch, epoch + 1, 2222 + i, 0});
    }
    for (int i = 0; i < workers; ++i) Apply(input::TaskStarted{Id(i), epoch, epoch + 1, 1000 + i});
    recorded_.clear();
    shown_.clear();
  }
  static std::string Id(int worker) { return "c" + std::to_string(worker); }
  static TaskUsage UsageOf(int64_t max_memory) {
    TaskUsage usage;
    usage.max_memory_bytes = max_memory;
    return usage;
  }
  void Measure(int worker, int64_t max_memory) {
    Apply(input::Heartbeat{.container_id = Id(worker), .usage = UsageOf(max_memory)});
  }
  void Apply(const JobInput& input) {
    for (JobEffect& effect : machine_->Apply(input, now_)) {
      if (auto* record = std::get_if<effect::Record>(&effect)) recorded_.push_back(record->body);
      if (auto* show = std::get_if<effect::ShowMeasurement>(&effect)) {
        shown_.push_back(show->measured);
      }
    }
  }
  // Where among the recorded events the one measurement is; -1: there is none, or more than one.
  int PlaceOfMeasurement() const {
    int place = -1;
    for (size_t i = 0; i < recorded_.size(); ++i) {
      if (!std::holds_alternative<TaskMeasured>(recorded_[i])) continue;
      if (place >= 0) return -1;
      place = static_cast<int>(i);
    }
    return place;
  }

  std::unique_ptr<JobMachine> machine_;
  TimePoint now_{std::chrono::hours(1)};
  std::vector<JobEventBody> recorded_;
  std::vector<TaskMeasured> shown_;
};

TEST_F(MeasurementTest, AWeekOfHeartbeatsIsNoEvent) {
  constexpr int kWorkers = 16;
  Run(kWorkers);
  const TimePoint end = now_ + std::chrono::hours(7 * 24);
  int64_t shown = 0;
  int64_t measured = 0;
  for (; now_ < end; now_ += kMetricsInterval) {
    Apply(input::Tick{});
    ++measured;
    for (int worker = 0; worker < kWorkers; ++worker) Measure(worker, measured);
    shown += static_cast<int64_t>(shown_.size());
    shown_.clear();
  }
  EXPECT_EQ(shown, kWorkers * measured);
  EXPECT_THAT(recorded_, IsEmpty());
  EXPECT_EQ(machine_->tasks().Find({"worker", 3})->measured,
            (TaskMeasured{{"worker", 3}, UsageOf(measured), 1}));
}

TEST_F(MeasurementTest, TheEndOfARunKeepsTheNewest) {
  Run(2);
  Measure(0, 10);
  Measure(1, 20);
  Measure(0, 11);
  EXPECT_THAT(recorded_, IsEmpty());
  Apply(input::TaskEnded{Id(0), 0, 1, {}});
  ASSERT_EQ(PlaceOfMeasurement(), 0) << "before the task's end is told";
  EXPECT_TRUE(recorded_[0] == JobEventBody(TaskMeasured({{"worker", 0}, UsageOf(11), 1})));
  ASSERT_TRUE(std::holds_alternative<TaskChanged>(recorded_[1]));
  recorded_.clear();
  Measure(0, 12);
  EXPECT_THAT(recorded_, IsEmpty()) << "it does not run any more";
}

TEST_F(MeasurementTest, EachRunLeavesItsOwn) {
  Run(2, /*retry_count=*/1);
  Measure(0, 10);
  Measure(1, 20);
  // Worker 1 runs on, and is told to start again.
  Apply(input::TaskEnded{Id(0), 0, 1, {TaskExit::Cause::kExited, 3, 0, "", {}}});
  int found = 0;
  for (const JobEventBody& body : recorded_) {
    const auto* measured = std::get_if<TaskMeasured>(&body);
    if (measured == nullptr) continue;
    ++found;
    EXPECT_EQ(measured->attempt, 1);
    EXPECT_EQ(measured->usage.max_memory_bytes, measured->task.index == 0 ? 10 : 20);
  }
  EXPECT_EQ(found, 2);
  ASSERT_EQ(machine_->epoch(), 1);
  StartAll(2, 1);
  Measure(1, 30);
  EXPECT_EQ(shown_.back(), (TaskMeasured{{"worker", 1}, UsageOf(30), 2}));
  // A lost container ends a run, too.
  Apply(input::ContainerEnded{Id(1), {true, "gone"}});
  ASSERT_GE(PlaceOfMeasurement(), 0);
  const auto kept = recorded_[static_cast<size_t>(PlaceOfMeasurement())];
  EXPECT_EQ(std::get<TaskMeasured>(kept).usage.max_memory_bytes, 30);
}

TEST_F(MeasurementTest, OfARunThatEndedWhileNoMasterWasThereTheLastIsKept) {
  JobDescription job;
  job.types.resize(1);
  job.types[0].name = "worker";
  job.types[0].instances = 2;
  machine_ = std::make_unique<JobMachine>(job);
  auto spec = std::make_shared<ClusterSpec>();
  for (int i = 0; i < 2; ++i) {
    Container container;
    container.id = Id(i);
    container.type = "worker";
    container.host = container.host_id = "host";
    machine_->Replay(decision::ContainerBound{container, {"worker", i}}, now_);
    spec->endpoints.push_back({{"worker", i}, "host", 2222 + i, "host", "", false});
  }
  machine_->Replay(decision::GangReleased{0, spec}, now_);
  machine_->Remember({{"worker", 0}, UsageOf(7), 1});
  machine_->Remember({{"worker", 1}, UsageOf(9), /*attempt=*/2});
  machine_->Remember({{"nobody", 0}, UsageOf(9), 1});
  Apply(input::Start{2, ""});
  EXPECT_EQ(PlaceOfMeasurement(), -1);
  for (int i = 0; i < 2; ++i) {
    input::HeldTask held;
    held.phase = input::HeldTask::Phase::kEnded;
    held.epoch = 0;
    held.attempt = 1;
    Apply(input::ExecutorAttached{Id(i), held});
  }
  ASSERT_GE(PlaceOfMeasurement(), 0);
  const JobEventBody& kept = recorded_[static_cast<size_t>(PlaceOfMeasurement())];
  EXPECT_TRUE(kept == JobEventBody(TaskMeasured({{"worker", 0}, UsageOf(7), 1})));
}

TEST_F(MeasurementTest, ARunThatWasNeverMeasuredLeavesNone) {
  Run(1);
  Apply(input::Heartbeat{.container_id = Id(0), .usage = std::nullopt});
  EXPECT_THAT(shown_, IsEmpty());
  Apply(input::TaskEnded{Id(0), 0, 1, {}});
  EXPECT_EQ(PlaceOfMeasurement(), -1);
}

}  // namespace
}  // namespace tony::core
