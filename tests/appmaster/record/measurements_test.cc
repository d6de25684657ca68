// Measurements from a heartbeat to the followers and the file, and that none of it grows with time.
#include "appmaster/record/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "absl/strings/str_split.h"
#include "common/fake_clock.h"
#include "core/job/job_machine.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"
#include "tests/common/loop_driver.h"

namespace tony::appmaster {
namespace {

using ::testing::UnorderedElementsAre;

core::TaskMeasured Measured(int index, int processes) {
  core::TaskMeasured measured{{"worker", index}, {}, 1};
  measured.usage.processes = processes;
  return measured;
}

class MeasurementsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Measurements> Make(Duration pause) {
    return std::make_unique<Measurements>(driver_.loop(), clock_, log_, pause,
                                          [this](const std::string& lines) {
                                            kept_.push_back(lines);
                                            driver_.Changed();
                                            return absl::OkStatus();
                                          });
  }
  int ShownNow() {
    std::lock_guard lock(log_.mutex());
    int count = 0;
    for (int64_t position = 0; const auto next = log_.NextMeasurementLocked(position);) {
      position = next->position;
      ++count;
    }
    return count;
  }

  LoopDriver driver_;
  FakeClock clock_;
  rpc::EventLog log_;
  std::vector<std::string> kept_;
};

TEST_F(MeasurementsTest, TheNewestOfEachTaskAreKeptTogether) {
  const auto measurements = Make(Duration::zero());
  measurements->Take(Measured(0, 1));
  measurements->Take(Measured(1, 2));
  measurements->Take(Measured(0, 3));
  measurements->ShowAll();
  EXPECT_EQ(ShownNow(), 2);
  ASSERT_TRUE(driver_.Await([this] { return !kept_.empty(); }));
  std::vector<core::TaskMeasured> found;
  for (const auto line : absl::StrSplit(kept_[0], '\n', absl::SkipEmpty())) {
    const core::JobEvent event = rpc::EventFromJsonLine(std::string(line)).value();
    EXPECT_EQ(event.sequence, 0);
    EXPECT_EQ(event.unix_millis, clock_.UnixMillis());
    found.push_back(std::get<core::TaskMeasured>(event.body));
  }
  EXPECT_THAT(found, UnorderedElementsAre(Measured(1, 2), Measured(0, 3)));
  EXPECT_EQ(kept_.size(), 1u);
  // The history has the measurement of a run that is over.
  log_.Append(rpc::ToProto(core::JobEvent{1, 0, Measured(1, 2)}));
  measurements->Take(Measured(0, 4));
  ASSERT_TRUE(driver_.Await([this] { return kept_.size() == 2; }));
  EXPECT_THAT(kept_[1], ::testing::HasSubstr("\"processes\":4"));
  EXPECT_THAT(kept_[1], ::testing::Not(::testing::HasSubstr("\"index\":1")));
}

TEST_F(MeasurementsTest, FollowersHearOfTheFirstAtOnceAndOfTheOthersTogether) {
  class Counting : public rpc::EventLog::Follower {
   public:
    explicit Counting(LoopDriver& driver) : driver_(driver) {}
    void OnChangeLocked() override {
      ++changes;
      driver_.Changed();
    }
    int changes = 0;

   private:
    LoopDriver& driver_;
  } follower(driver_);
  {
    std::lock_guard lock(log_.mutex());
    log_.AddLocked(&follower);
  }
  const auto measurements = Make(std::chrono::hours(1));
  for (int i = 0; i < 50; ++i) measurements->Take(Measured(i, 1));
  EXPECT_EQ(ShownNow(), 1);
  EXPECT_EQ(follower.changes, 1);
  ASSERT_TRUE(driver_.Await([this] { return ShownNow() == 50; }));
  EXPECT_EQ(follower.changes, 2);
  std::lock_guard lock(log_.mutex());
  log_.RemoveLocked(&follower);
}

// More than a week of 64 tasks at the default of 5 s. Whatever a measurement left behind, be it a
// byte, would show ten million times.
TEST_F(MeasurementsTest, MemoryIsFlatOverTenMillion) {
  constexpr int kTasks = 64;
  constexpr int64_t kMeasurements = 10'000'000;
  constexpr size_t kSlack = 256 << 10;  // for the allocator's own whims
  core::JobDescription job;
  job.types.resize(1);
  job.types[0].name = "worker";
  job.types[0].instances = kTasks;
  core::JobMachine machine(job);
  machine.Apply(core::input::Start{1, ""}, clock_.Now());
  std::vector<core::input::Heartbeat> heartbeats;
  for (int i = 0; i < kTasks; ++i) {
    core::Container container;
    container.id = "job-1-c" + std::to_string(i);
    container.type = "worker";
    container.host = container.host_id = "host";
    machine.Apply(core::input::ContainerGranted{container}, clock_.Now());
    machine.Apply(core::input::ExecutorAttached{container.id}, clock_.Now());
    heartbeats.push_back({.container_id = container.id, .usage = core::TaskUsage{}});
  }
  for (int i = 0; i < kTasks; ++i) {
    machine.Apply(core::input::ExecutorRegistered{heartbeats[i].container_id, 0, 1, 2222 + i, 0},
                  clock_.Now());
  }
  for (int i = 0; i < kTasks; ++i) {
    machine.Apply(core::input::TaskStarted{heartbeats[i].container_id, 0, 1, 1}, clock_.Now());
  }

  const auto measurements = Make(std::chrono::hours(24));
  int64_t shown = 0;
  int64_t others = 0;
  size_t before = 0;
  const auto apply = [&](const core::JobInput& input) {
    for (const core::JobEffect& effect : machine.Apply(input, clock_.Now())) {
      if (const auto* show = std::get_if<core::effect::ShowMeasurement>(&effect)) {
        measurements->Take(show->measured);
        ++shown;
      } else {
        ++others;
      }
    }
  };
  while (shown < kMeasurements) {
    if (shown == kTasks * 1'000) before = mallinfo2().uordblks;
    clock_.Advance(std::chrono::seconds(5));
    apply(core::input::Tick{});
    for (core::input::Heartbeat& heartbeat : heartbeats) {
      ++heartbeat.usage->memory_bytes;
      apply(heartbeat);
    }
  }
  measurements->ShowAll();
  const size_t after = mallinfo2().uordblks;
  EXPECT_EQ(others, 0) << "events, of a job in which nothing happens";
  EXPECT_LT(after, before + kSlack);
  EXPECT_EQ(ShownNow(), kTasks);
  std::lock_guard lock(log_.mutex());
  EXPECT_EQ(log_.NextLocked(1), nullptr);
}

}  // namespace
}  // namespace tony::appmaster
