// Questions to many executors: how many wait at a time, and those that nobody waits for.
#include "appmaster/page/node_reads.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "rpc/convert/log_lines.h"
#include "tests/appmaster/attached_job.h"

namespace tony::appmaster {
namespace {

constexpr size_t kQuestions = 40;

class NodeReadsTest : public AttachedJobTest {
 protected:
  NodeReadsTest()
      : AttachedJobTest({.log_lines = [this](const std::string& container, v1::LogLines& lines) {
          driver_.loop().Post([this, container, lines] {
            reads_.TakeLines(container, lines);
            driver_.Changed();
          });
        }}) {}

  /// Executors keep what they are asked for.
  void Run() {
    RunAll([this](int worker, const v1::MasterMessage& message) {
      if (!message.has_read_log()) return;
      driver_.loop().Post([this, worker, request = message.read_log().request()] {
        asked_.emplace_back(worker, request);
        driver_.Changed();
      });
    });
  }
  void AskAll(web::JobLogs::Abandoned abandoned = nullptr) {
    std::vector<NodeQuestion> questions;
    for (size_t i = 0; i < kQuestions; ++i) {
      questions.push_back({{"worker", static_cast<int>(i % kWorkers)}, {}});
    }
    reads_.AskAll(std::move(questions), std::move(abandoned),
                  [this](std::vector<NodeAnswer> answers) {
                    answers_ = std::move(answers);
                    driver_.Changed();
                  });
  }
  bool AwaitAsked(size_t count) {
    return driver_.Await([&] { return asked_.size() >= count; });
  }
  /// The executor answers the question with its number among all that were asked.
  void Answer(size_t index) {
    v1::ExecutorMessage message;
    *message.mutable_log_lines() = rpc::ToProto(absl::NotFoundError(std::to_string(index)));
    message.mutable_log_lines()->set_request(asked_[index].second);
    sessions_[static_cast<size_t>(asked_[index].first)]->Send(message);
  }

  NodeReads reads_{driver_.loop(), clock_, *machine_, executors_};
  std::vector<std::pair<int, int64_t>> asked_;  ///< worker, request
  std::optional<std::vector<NodeAnswer>> answers_;
};

TEST_F(NodeReadsTest, OfManyQuestionsSomeWaitAtATime) {
  Run();
  AskAll();
  for (size_t answered = 0; answered < kQuestions; ++answered) {
    ASSERT_TRUE(AwaitAsked(std::min(kQuestions, answered + NodeReads::kAtOnce)));
    EXPECT_LE(asked_.size(), answered + NodeReads::kAtOnce);
    EXPECT_FALSE(answers_.has_value());
    Answer(answered);
  }
  ASSERT_TRUE(driver_.Await([&] { return answers_.has_value(); }));
  ASSERT_EQ(answers_->size(), kQuestions);
  for (size_t i = 0; i < kQuestions; ++i) {
    const NodeAnswer& answer = (*answers_)[i];
    EXPECT_EQ(answer.task, (core::TaskId{"worker", static_cast<int>(i % kWorkers)}));
    EXPECT_TRUE(absl::IsNotFound(answer.lines.status())) << answer.lines.status();
  }
}

TEST_F(NodeReadsTest, WhatNobodyWaitsForIsNotAsked) {
  Run();
  const auto abandoned = std::make_shared<std::atomic<bool>>(false);
  AskAll(abandoned);
  ASSERT_TRUE(AwaitAsked(NodeReads::kAtOnce));
  *abandoned = true;
  for (size_t i = 0; i < NodeReads::kAtOnce; ++i) Answer(i);
  ASSERT_TRUE(driver_.Await([&] { return answers_.has_value(); }));
  EXPECT_EQ(asked_.size(), NodeReads::kAtOnce);
  EXPECT_TRUE(absl::IsCancelled(answers_->back().lines.status()));
}

TEST_F(NodeReadsTest, WithoutExecutorsEachAnswerSaysSo) {
  AskAll();
  ASSERT_TRUE(answers_.has_value());
  for (const NodeAnswer& answer : *answers_) {
    EXPECT_TRUE(absl::IsUnavailable(answer.lines.status()));
  }
}

}  // namespace
}  // namespace tony::appmaster
