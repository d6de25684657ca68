// Stacks of executors that the test plays: answers, silence, late and foreign answers, and bounds.
#include "appmaster/stack_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/stacks/stack_groups.h"
#include "rpc/convert/convert_stacks.h"
#include "rpc/services/job_client.h"
#include "tests/appmaster/attached_job.h"

namespace tony::appmaster {
namespace {

using ::testing::HasSubstr;

class StackCollectorTest : public AttachedJobTest {
 protected:
  StackCollectorTest()
      : AttachedJobTest({.stacks =
                             [this](const std::string& container, const v1::TaskStacks& stacks) {
                               driver_.loop().Post([this, container, stacks] {
                                 collector_->Take(container, stacks.request(), stacks.attempt(),
                                                  stacks.trouble(), rpc::FromProto(stacks));
                               });
                             }},
                        {.on_stacks = [this](const std::vector<core::TaskId>& tasks,
                                             rpc::JobService::AnswerStacks answer) {
                          driver_.loop().Post([this, tasks, answer = std::move(answer)] {
                            collector_->Collect(tasks, answer);
                          });
                        }}) {
    collector_ = std::make_unique<StackCollector>(driver_.loop(), clock_, *machine_, executors_);
  }

  /// Attaches all executors, and their programs run. `answers`: those that answer requests with
  /// stacks.
  void Run(int answers) {
    RunAll([this, answers](int worker, const v1::MasterMessage& message) {
      if (!message.has_take_stacks()) return;
      limit_bytes_ = message.take_stacks().limit_bytes();
      if (worker < answers) Answer(worker, message.take_stacks().request());
    });
  }
  /// Worker 1 is somewhere else than the others.
  void Answer(int worker, int64_t request) {
    v1::ExecutorMessage message;
    v1::TaskStacks& stacks = *message.mutable_stacks();
    stacks.set_request(request);
    stacks.set_attempt(1);
    *stacks.add_processes() = rpc::ToProto(core::ProcessDump{
        100 + worker, 7, 1, "python3", "faulthandler",
        std::string(
            "Current thread 0x1 (most recent call first):\n  File \"train.py\", line 5 in ") +
            (worker == 1 ? "load" : "reduce") + "\n",
        ""});
    sessions_[worker]->Send(message);
  }
  StackCollector::Answer Into(std::optional<absl::StatusOr<core::StackReport>>& answer) {
    return [this, &answer](const absl::StatusOr<core::StackReport>& report) {
      answer = report;
      driver_.Changed();
    };
  }
  absl::StatusOr<core::StackReport> Collect(const std::vector<core::TaskId>& tasks = {}) {
    std::optional<absl::StatusOr<core::StackReport>> answer;
    collector_->Collect(tasks, Into(answer));
    EXPECT_TRUE(driver_.Await([&] { return answer.has_value(); }));
    return *answer;
  }

  std::unique_ptr<StackCollector> collector_;
  int limit_bytes_ = 0;
};

TEST_F(StackCollectorTest, CollectsFromAllExecutors) {
  Run(kWorkers);
  const auto report = Collect();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->tasks.size(), 3u);
  EXPECT_EQ(report->stacks.size(), 2u);
  EXPECT_EQ(report->tasks[0].host, "node7");
  EXPECT_EQ(core::SuspectSentence(*report, core::GroupStacks(*report, core::GroupBy::kMainThread)),
            "worker:1 is in load (train.py:5) while 2 others are in reduce (train.py:5)");
  EXPECT_EQ(limit_bytes_, 256 * 1024);
  ASSERT_NE(collector_->last(), nullptr);
  EXPECT_EQ(*collector_->last(), *report);
}

TEST_F(StackCollectorTest, NamesThoseThatDoNotAnswer) {
  Run(/*answers=*/2);
  const auto report = Collect();
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->tasks.size(), 3u);
  EXPECT_EQ(report->tasks[0].trouble, "");
  EXPECT_THAT(report->tasks[2].trouble, HasSubstr("has not answered within 2 s"));
  // Only the one that is asked for is waited for.
  EXPECT_EQ(Collect({{"worker", 1}, {"worker", 1}})->tasks.size(), 1u);
}

TEST_F(StackCollectorTest, AnswersAClientOverTheWire) {
  Run(kWorkers);
  EXPECT_EQ(collector_->last(), nullptr);
  rpc::JobClient client(server_->address(), authority_.Issue(rpc::ClientRole(kJobId)).value());
  const auto report = driver_.AwaitThread([&client] {
    return client.Stacks({{"worker", 1}}, std::chrono::seconds(20));
  });
  ASSERT_TRUE(report && report->ok());
  ASSERT_EQ((*report)->tasks.size(), 1u);
  EXPECT_EQ((*report)->tasks[0].processes[0].pid, 101);
  EXPECT_EQ(core::TopCall((*report)->stacks[0]), "load (train.py:5)");
  EXPECT_EQ(collector_->last(), nullptr) << "these were not those of all tasks";
  rpc::JobClient executor(server_->address(),
                          authority_.Issue(rpc::ExecutorRole(kJobId, Id(0))).value());
  const auto refused =
      driver_.AwaitThread([&executor] { return executor.Stacks({}, std::chrono::seconds(20)); });
  ASSERT_TRUE(refused);
  EXPECT_TRUE(absl::IsPermissionDenied(refused->status())) << refused->status();
}

TEST_F(StackCollectorTest, SaysWhyATaskCannotBeAsked) {
  auto report = Collect();
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->tasks[0].trouble, HasSubstr("so no program runs there"));
  EXPECT_TRUE(absl::IsNotFound(Collect({{"ps", 0}}).status()));
  Run(kWorkers);
  sessions_.clear();  // nobody has told the machine
  report = Collect();
  ASSERT_TRUE(report.ok());
  EXPECT_NE(report->tasks[0].trouble, "");
}

TEST_F(StackCollectorTest, HasALimitOnRequestsAtATime) {
  Run(/*answers=*/0);
  std::vector<std::optional<absl::StatusOr<core::StackReport>>> answers(
      StackCollector::kMostCollections + 1);
  for (auto& answer : answers) collector_->Collect({}, Into(answer));
  ASSERT_TRUE(answers.back());
  EXPECT_TRUE(absl::IsResourceExhausted(answers.back()->status()));
  ASSERT_TRUE(
      driver_.Await([&] { return answers.front() && answers[1] && answers[2] && answers[3]; }));
  EXPECT_TRUE(answers.front()->ok());
}

TEST_F(StackCollectorTest, DropsAnswersThatNobodyHasAskedFor) {
  Run(kWorkers);
  collector_->Take(Id(0), 77, 1, "", {});
  collector_->Take("stranger", 1, 1, "", {});
  ASSERT_TRUE(Collect().ok());
  collector_->Take(Id(0), 1, 1, "", {});
}

}  // namespace
}  // namespace tony::appmaster
