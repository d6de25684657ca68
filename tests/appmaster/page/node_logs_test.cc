// Logs on machines of tasks, whose executors the test plays: answers, silence, foreign answers.
#include "appmaster/page/node_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>

#include "rpc/convert/log_lines.h"
#include "tests/appmaster/attached_job.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::HasSubstr;

class NodeLogsTest : public AttachedJobTest {
 protected:
  using Block = absl::StatusOr<logs::LogBlock>;

  NodeLogsTest()
      : AttachedJobTest({.log_lines = [this](const std::string& container, v1::LogLines& lines) {
          driver_.loop().Post([this, container, lines] { logs_.TakeLines(container, lines); });
        }}) {}

  /// Executors of workers below `answers` answer with a line that tells what they were asked.
  void Run(int answers) {
    RunAll([this, answers](int worker, const v1::MasterMessage& message) {
      if (message.has_read_log() && worker < answers) Answer(worker, message.read_log());
    });
  }
  void Answer(int worker, const v1::ReadLog& wish) {
    logs::LogBlock block;
    block.rows = {{wish.offset(),
                   absl::StrCat(Id(worker), " ", v1::ReadLog::Stream_Name(wish.stream()), " ",
                                wish.attempt(), " ", wish.search().pattern()),
                   wish.has_search()}};
    v1::ExecutorMessage message;
    *message.mutable_log_lines() = rpc::ToProto(block);
    message.mutable_log_lines()->set_request(wish.request());
    sessions_[static_cast<size_t>(worker)]->Send(message);
  }
  Block Read(const web::LogName& name, int64_t offset = 0) {
    std::optional<Block> answer;
    logs_.ReadBlock(name, offset, 1000, nullptr, Into(answer));
    EXPECT_TRUE(driver_.Await([&] { return answer.has_value(); }));
    return *answer;
  }
  web::JobLogs::Take<logs::LogBlock> Into(std::optional<Block>& answer) {
    return [this, &answer](const Block& block) {
      answer = block;
      driver_.Changed();
    };
  }

  os::TemporaryFolder folder_;
  NodeLogs logs_{driver_.loop(), clock_, *machine_, executors_, folder_ / "am.log"};
};

TEST_F(NodeLogsTest, TheTasksExecutorReadsABlock) {
  Run(kWorkers);
  const Block block = Read({{"worker", 1}, 2, "stderr"}, -500);
  ASSERT_TRUE(block.ok()) << block.status();
  ASSERT_EQ(block->rows.size(), 1U);
  EXPECT_EQ(block->rows[0].text, "c1 STDERR 2 ");
  EXPECT_EQ(block->rows[0].offset, -500);
  EXPECT_EQ(Read({{"worker", 2}, 0, "executor"})->rows[0].text, "c2 EXECUTOR 0 ");
}

TEST_F(NodeLogsTest, TheTasksExecutorSearches) {
  Run(kWorkers);
  std::optional<Block> answer;
  logs_.Search({{"worker", 0}, 1, "stdout"}, {.pattern = "loss=\\d"}, nullptr, Into(answer));
  ASSERT_TRUE(driver_.Await([&] { return answer.has_value(); }));
  EXPECT_EQ((*answer)->rows[0].text, "c0 STDOUT 1 loss=\\d");
  EXPECT_TRUE((*answer)->rows[0].hit);
}

TEST_F(NodeLogsTest, OneThatCannotBeAskedOrDoesNotAnswerIsSaidToBeSo) {
  EXPECT_THAT(Read({{"worker", 0}, 1, "stdout"}).status().message(), HasSubstr("no connection"));
  Run(/*answers=*/2);
  EXPECT_THAT(Read({{"worker", 2}, 1, "stdout"}).status().message(),
              HasSubstr("not answered within 5 s"));
  EXPECT_THAT(Read({{"ps", 0}, 1, "stdout"}).status().message(), HasSubstr("no container"));
}

TEST_F(NodeLogsTest, AnotherContainersAnswerIsDropped) {
  Run(/*answers=*/0);
  std::optional<Block> answer;
  logs_.ReadBlock({{"worker", 0}, 1, "stdout"}, 0, 1000, nullptr, Into(answer));
  v1::LogLines lines;
  lines.set_request(1);
  lines.set_end(42);
  logs_.TakeLines(Id(1), lines);
  EXPECT_FALSE(answer.has_value());
  logs_.TakeLines(Id(0), lines);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ((*answer)->end, 42);
  logs_.TakeLines(Id(0), lines);  // once more, which nobody waits for
}

TEST_F(NodeLogsTest, HasALimitOnRequestsAtATime) {
  Run(/*answers=*/0);
  std::vector<std::optional<Block>> answers(NodeLogs::kMostWaiting + 1);
  for (auto& answer : answers) {
    logs_.ReadBlock({{"worker", 0}, 1, "stdout"}, 0, 1000, nullptr, Into(answer));
  }
  ASSERT_TRUE(answers.back().has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(answers.back()->status()));
  EXPECT_FALSE(answers.front().has_value());
}

TEST_F(NodeLogsTest, ItsOwnLogLiesHere) {
  std::ofstream(folder_ / "am.log") << "one\ntwo\n";
  const Block block = Read({{}, 0, "am"});
  ASSERT_TRUE(block.ok()) << block.status();
  EXPECT_EQ(block->rows.size(), 2U);
}

TEST_F(NodeLogsTest, KnowsTheFailureAndLeavesTheRestToTheNodes) {
  core::JobView view;
  std::optional<absl::StatusOr<web::JobErrors>> errors;
  const auto find = [&] {
    logs_.FindErrors(view, nullptr, [&](const auto& found) { errors = found; });
  };
  find();
  EXPECT_FALSE((*errors)->failure.has_value());
  view.attempts.push_back(
      {.number = 1, .cause = "worker:1 exited with code 1", .guilty = core::TaskId{"worker", 1}});
  find();
  ASSERT_TRUE((*errors)->failure.has_value());
  EXPECT_EQ((*errors)->failure->sentence, "worker:1 exited with code 1");
  EXPECT_EQ((*errors)->failure->attempt, 1);
  std::optional<absl::Status> merged;
  logs_.Merge(view, {}, nullptr, [&](const auto& lines) { merged = lines.status(); });
  EXPECT_TRUE(absl::IsUnimplemented(*merged));
}

}  // namespace
}  // namespace tony::appmaster
