// Logs on machines of tasks, whose executors the test plays: answers, silence, foreign answers.
#include "appmaster/page/node_logs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <optional>

#include "appmaster/page/node_download.h"
#include "rpc/convert/log_lines.h"
#include "tests/appmaster/attached_job.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::ElementsAre;
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
  /// Executors answer with what `make` returns; nothing: they stay silent.
  using Make = std::function<std::optional<v1::LogLines>(int worker, const v1::ReadLog& wish)>;
  void RunAs(const Make& make) {
    RunAll([this, make](int worker, const v1::MasterMessage& message) {
      if (!message.has_read_log()) return;
      std::optional<v1::LogLines> lines = make(worker, message.read_log());
      if (!lines) return;
      lines->set_request(message.read_log().request());
      v1::ExecutorMessage answer;
      *answer.mutable_log_lines() = *std::move(lines);
      sessions_[static_cast<size_t>(worker)]->Send(answer);
    });
  }
  /// The job as its page sees it: each worker has been started.
  static core::JobView View() {
    core::JobView view;
    view.job.job_id = kJobId;
    for (int i = 0; i < kWorkers; ++i) {
      core::JobView::Task task;
      task.last.task = {"worker", i};
      task.last.attempt = 1;
      view.tasks.push_back(task);
    }
    return view;
  }
  template <typename Result>
  absl::StatusOr<Result> Await(const std::function<void(web::JobLogs::Take<Result>)>& ask) {
    std::optional<absl::StatusOr<Result>> answer;
    ask([&](absl::StatusOr<Result> result) {
      answer = std::move(result);
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return answer.has_value(); }));
    return *std::move(answer);
  }
  absl::StatusOr<web::MergedLines> Merge(const web::MergeWish& wish) {
    return Await<web::MergedLines>([&](auto take) { logs_.Merge(View(), wish, nullptr, take); });
  }
  absl::StatusOr<web::JobErrors> FindErrors(const core::JobView& view) {
    return Await<web::JobErrors>([&](auto take) { logs_.FindErrors(view, nullptr, take); });
  }
  /// One line of a worker, of the present.
  v1::LogLines MergedLine(const std::string& text, int64_t millis) const {
    v1::LogLines lines;
    v1::MergedLines::Row& row = *lines.mutable_merged()->add_rows();
    row.set_unix_millis(millis);
    row.set_place(1);
    row.set_attempt(1);
    row.set_stream(v1::ReadLog::STDERR);
    row.set_text(text);
    lines.mutable_merged()->set_place_millis(clock_.UnixMillis());
    return lines;
  }
  static v1::LogLines ErrorLine(const std::string& text, int64_t millis) {
    v1::LogLines lines;
    lines.mutable_error()->set_attempt(1);
    lines.mutable_error()->set_stream(v1::ReadLog::STDERR);
    lines.mutable_error()->set_line(42);
    lines.mutable_error()->set_unix_millis(millis);
    lines.mutable_error()->add_before("before it");
    lines.mutable_error()->add_lines(text);
    lines.set_printed(true);
    return lines;
  }
  void Answer(int worker, const v1::ReadLog& wish) {
    logs::LogBlock block;
    block.rows = {
        {wish.offset(),
         absl::StrCat(Id(worker), " ", v1::ReadLog::Stream_Name(wish.stream()), " ", wish.attempt(),
                      " ", wish.search().pattern(), " ", wish.search().level()),
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
  EXPECT_EQ(block->rows[0].text, "c1 STDERR 2  ");
  EXPECT_EQ(block->rows[0].offset, -500);
  EXPECT_EQ(Read({{"worker", 2}, 0, "executor"})->rows[0].text, "c2 EXECUTOR 0  ");
}

TEST_F(NodeLogsTest, TheTasksExecutorSearches) {
  Run(kWorkers);
  std::optional<Block> answer;
  logs_.Search({{"worker", 0}, 1, "stdout"}, {.pattern = "loss=\\d", .level = LogLevel::kWarning},
               nullptr, Into(answer));
  ASSERT_TRUE(driver_.Await([&] { return answer.has_value(); }));
  EXPECT_EQ((*answer)->rows[0].text, "c0 STDOUT 1 loss=\\d warning");
  EXPECT_TRUE((*answer)->rows[0].hit);
}

TEST_F(NodeLogsTest, OneThatCannotBeAskedOrDoesNotAnswerIsSaidToBeSo) {
  EXPECT_THAT(Read({{"worker", 0}, 1, "stdout"}).status().message(), HasSubstr("no connection"));
  Run(/*answers=*/2);
  EXPECT_THAT(Read({{"worker", 2}, 1, "stdout"}).status().message(),
              HasSubstr("worker:2 did not answer within 5 s"));
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
  std::vector<std::optional<Block>> answers(NodeReads::kMostWaiting + 1);
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

TEST_F(NodeLogsTest, MergesTheLogsOfAllTasksOfAType) {
  const int64_t now = clock_.UnixMillis();
  std::atomic<int64_t> place = -1;
  RunAs([&](int worker, const v1::ReadLog& wish) {
    if (worker == 1) place = wish.merge().place_millis();
    return MergedLine(absl::StrCat(wish.merge().pattern(), worker), now - 1000 * worker);
  });
  const auto page = Merge({.task = "worker", .since_millis = 5, .match = "w"});
  ASSERT_TRUE(page.ok()) << page.status();
  std::vector<std::string> texts;
  for (const web::MergedLine& line : page->lines) {
    texts.push_back(absl::StrCat(line.task, " ", line.stream, " ", line.text));
  }
  EXPECT_THAT(texts, ElementsAre("worker:2 stderr w2", "worker:1 stderr w1", "worker:0 stderr w0"));
  EXPECT_THAT(page->notes, ElementsAre());
  EXPECT_EQ(place, 0);
  ASSERT_TRUE(Merge({.task = "worker-1", .cursor = page->next}).ok());
  EXPECT_GE(place, now);
  EXPECT_TRUE(absl::IsInvalidArgument(Merge({.task = "ps"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Merge({.match = "("}).status()));
}

TEST_F(NodeLogsTest, TasksThatDoNotAnswerAreNamed) {
  RunAs([&](int worker, const v1::ReadLog&) -> std::optional<v1::LogLines> {
    if (worker == 0) return std::nullopt;
    if (worker == 1) return rpc::ToProto(absl::InternalError("the disk is broken"));
    return MergedLine("here", clock_.UnixMillis() - 1000);
  });
  const auto page = Merge({});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->lines.size(), 1U);
  EXPECT_FALSE(page->empty);
  EXPECT_THAT(page->notes,
              ElementsAre("worker:0 did not answer within 2 s", "worker:1: the disk is broken"));
}

TEST_F(NodeLogsTest, OneBusyExecutorIsNamedAndTheOthersLinesAreShown) {
  std::atomic<bool> busy = true;
  RunAs([&](int worker, const v1::ReadLog&) -> std::optional<v1::LogLines> {
    if (worker == 1 && busy) return rpc::ToProto(absl::ResourceExhaustedError("it is busy"));
    return MergedLine("here", clock_.UnixMillis() - 1000);
  });
  const auto page = Merge({});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->lines.size(), 2U);
  EXPECT_THAT(page->notes, ElementsAre("worker:1: it is busy"));
  web::MergeWish follower;
  follower.cursor = web::MergeCursor{{clock_.UnixMillis() - 2000, 0}, ""};
  EXPECT_TRUE(Merge(follower)->lines.empty()) << "the lines of worker:1 would be missed";
  busy = false;
  EXPECT_EQ(Merge(follower)->lines.size(), 3U);
}

TEST_F(NodeLogsTest, AFollowerWaitsForATaskThatIsSilentForAMoment) {
  std::atomic<bool> silent = false;
  RunAs([&](int worker, const v1::ReadLog&) -> std::optional<v1::LogLines> {
    if (worker == 0 && silent) return std::nullopt;
    return MergedLine("here", clock_.UnixMillis() - 1000);
  });
  web::MergeWish wish;
  wish.cursor = web::MergeCursor{{clock_.UnixMillis() - 2000, 0}, ""};
  silent = true;
  const auto page = Merge(wish);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(page->lines.empty()) << "the next page would begin behind the lines of worker:0";
  EXPECT_EQ(page->next.place, wish.cursor->place);
  EXPECT_FALSE(page->empty);
  EXPECT_THAT(page->notes, ElementsAre("worker:0 did not answer within 2 s"));
  silent = false;
  EXPECT_EQ(Merge(wish)->lines.size(), 3U);
}

TEST_F(NodeLogsTest, ATaskThatIsChosenAloneIsShownWhateverItsClockSays) {
  RunAs([&](int, const v1::ReadLog&) {
    v1::LogLines lines = MergedLine("line", clock_.UnixMillis() - 3'601'000);
    lines.mutable_merged()->set_place_millis(clock_.UnixMillis() - 3'600'000);
    return lines;
  });
  web::MergeWish wish;
  wish.task = "worker-1";
  const auto page = Merge(wish);
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->lines.size(), 1U);
  EXPECT_TRUE(page->notes.empty());
}

TEST_F(NodeLogsTest, AHostWhoseClockIsFarOffDoesNotHoldTheOthersBack) {
  RunAs([&](int worker, const v1::ReadLog&) {
    v1::LogLines lines = MergedLine("line", clock_.UnixMillis() - 1000);
    if (worker == 1) lines.mutable_merged()->set_place_millis(clock_.UnixMillis() - 3'600'000);
    return lines;
  });
  const auto page = Merge({});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->lines.size(), 2U);
  ASSERT_EQ(page->notes.size(), 1U);
  EXPECT_THAT(page->notes[0], HasSubstr("the clock of worker:1's machine is 36"));
}

TEST_F(NodeLogsTest, TasksWithoutAContainerAreCounted) {
  Run(/*answers=*/0);
  core::JobView view = View();
  for (core::JobView::Task& task : view.tasks) task.last.task.type = "gone";
  const auto page =
      Await<web::MergedLines>([&](auto take) { logs_.Merge(view, {}, nullptr, take); });
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(page->empty);
  ASSERT_EQ(page->notes.size(), 1U);
  EXPECT_THAT(page->notes[0], HasSubstr("3 tasks have no container any more"));
  EXPECT_THAT(page->notes[0], HasSubstr("tony logs job-1"));
}

TEST_F(NodeLogsTest, MergesAreLimitedAtATime) {
  Run(/*answers=*/0);
  std::vector<std::optional<absl::Status>> answers(NodeReads::kMostRounds + 1);
  for (auto& answer : answers) {
    logs_.Merge(View(), {}, nullptr, [&](const auto& lines) { answer = lines.status(); });
  }
  ASSERT_TRUE(answers.back().has_value());
  EXPECT_TRUE(absl::IsResourceExhausted(*answers.back()));
  EXPECT_FALSE(answers.front().has_value());
}

TEST_F(NodeLogsTest, ItsOwnLogIsShownAsAMergeToo) {
  std::ofstream(folder_ / "am.log") << "2001-09-09T03:46:40.100+02:00 info starting\n";
  const auto page = Merge({.task = "am"});
  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->lines.size(), 1U);
  EXPECT_EQ(page->lines[0].unix_millis, 1'000'000'000'100);
  EXPECT_EQ(page->lines[0].task, "am");
}

TEST_F(NodeLogsTest, FindsTheGuiltyTasksErrorAndWhatOthersPrintedBecauseOfIt) {
  std::atomic<int64_t> since = -1;
  RunAs([&](int worker, const v1::ReadLog& wish) {
    if (worker == 1) return ErrorLine("ValueError: bad batch", 5000);
    since = wish.find_error().since_millis();
    if (worker == 0) return ErrorLine("error: perhaps", 4000);
    return ErrorLine("RuntimeError: connection lost", 6000);
  });
  core::JobView view = View();
  EXPECT_FALSE(FindErrors(view)->failure.has_value());
  view.attempts.push_back(
      {.number = 1, .cause = "worker:1 exited with code 1", .guilty = core::TaskId{"worker", 1}});
  const auto errors = FindErrors(view);
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_TRUE(errors->failure.has_value());
  EXPECT_EQ(errors->failure->sentence, "worker:1 exited with code 1");
  EXPECT_EQ(errors->failure->attempt, 1);
  ASSERT_TRUE(errors->own.has_value());
  EXPECT_EQ(errors->own->task, "worker:1");
  EXPECT_EQ(errors->own->stream, "stderr");
  EXPECT_EQ(errors->own->line, 42);
  EXPECT_THAT(errors->own->before, ElementsAre("before it"));
  EXPECT_THAT(errors->own->lines, ElementsAre("ValueError: bad batch"));
  EXPECT_FALSE(errors->own->mention);
  EXPECT_TRUE(errors->printed);
  EXPECT_EQ(since, 5000);
  ASSERT_TRUE(errors->after.has_value());
  EXPECT_EQ(errors->after->task, "worker:2");  // a mention explains less, even if it came before
}

// The clock of worker:1's host is an hour ahead.
TEST_F(NodeLogsTest, ErrorsAreComparedByOneClock) {
  constexpr int64_t kHour = 3'600'000;
  const int64_t now = clock_.UnixMillis();
  std::atomic<int64_t> since = -1, sent = -1;
  RunAs([&](int worker, const v1::ReadLog& wish) {
    if (worker == 0) since = wish.find_error().since_millis();
    if (worker == 0) sent = wish.find_error().sent_millis();
    const int64_t ahead = worker == 1 ? kHour : 0;
    v1::LogLines lines = ErrorLine("OSError: x", now - 1000 * (2 - worker) + ahead);
    lines.set_host_millis(clock_.UnixMillis() + ahead);
    lines.mutable_error()->set_offset(77);
    return lines;
  });
  core::JobView view = View();
  view.attempts.push_back({.number = 1, .cause = "gone", .guilty = core::TaskId{"worker", 1}});
  auto errors = FindErrors(view);
  ASSERT_TRUE(errors.ok()) << errors.status();
  EXPECT_EQ(errors->own->unix_millis, now - 1000 + kHour) << "as the log says it";
  EXPECT_EQ(errors->own->offset, 77);
  EXPECT_NEAR(static_cast<double>(since), static_cast<double>(now - 1000), 60'000);
  EXPECT_GE(sent, now);
  view.attempts.back().guilty.reset();
  errors = FindErrors(view);
  EXPECT_EQ(errors->own->task, "worker:0") << "the first by one clock";
}

TEST_F(NodeLogsTest, WithoutAGuiltyTaskTheFirstErrorOfAllIsTheCause) {
  RunAs([&](int worker, const v1::ReadLog&) -> std::optional<v1::LogLines> {
    if (worker == 0) return v1::LogLines{};
    return ErrorLine("ValueError: bad batch", 5000 - worker);
  });
  core::JobView view = View();
  view.verdict.emplace();
  view.verdict->outcome = core::Outcome::kKilled;
  view.verdict->sentence = "it took too long";
  const auto errors = FindErrors(view);
  ASSERT_TRUE(errors.ok()) << errors.status();
  ASSERT_TRUE(errors->own.has_value());
  EXPECT_EQ(errors->own->task, "worker:2");
  EXPECT_FALSE(errors->after.has_value());
}

/// An executor whose log has `size` bytes.
class NodeDownloadTest : public NodeLogsTest {
 protected:
  void Serve(int64_t size) {
    RunAs([this, size](int, const v1::ReadLog& wish) -> std::optional<v1::LogLines> {
      ++asked_;
      if (!wish.raw()) return std::nullopt;
      const int64_t count =
          std::clamp<int64_t>(size - wish.offset(), 0, std::min(wish.limit_bytes(), kMostPiece));
      v1::LogLines lines;
      lines.set_offset(wish.offset());
      lines.set_size(size + grown_);
      lines.set_dropped_bytes(dropped_);
      lines.set_dropped_offset(dropped_ > 0 ? size / 2 : 0);
      for (int64_t i = 0; i < count; ++i) *lines.mutable_raw() += ByteAt(wish.offset() + i);
      if (wish.offset() + count < size) lines.set_next(wish.offset() + count);
      return lines;
    });
  }
  static char ByteAt(int64_t offset) { return static_cast<char>(offset * 7 + offset / 256); }
  absl::StatusOr<web::RawLog> Open() {
    return Await<web::RawLog>([&](auto take) {
      logs_.OpenRaw({{"worker", 0}, 1, "stdout"}, nullptr, take);
    });
  }
  using Piece = std::shared_ptr<const std::string>;
  absl::StatusOr<Piece> Next(const web::RawLog& log) {
    return Await<Piece>([&](auto take) { log.source->Next(take); });
  }

  static constexpr int64_t kMostPiece = 100'000;
  std::atomic<int> asked_ = 0;
  std::atomic<int64_t> grown_ = 0;
  std::atomic<int64_t> dropped_ = 0;
};

TEST_F(NodeDownloadTest, GivesAWholeLogPieceByPieceAsItIsTaken) {
  constexpr int64_t kSize = 450'001;
  Serve(kSize);
  const auto log = Open();
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->bytes, kSize);
  EXPECT_EQ(asked_, 1);
  grown_ = 1000;  // what comes later does not belong to the download
  std::string all;
  for (int pieces = 1;; ++pieces) {
    const auto piece = Next(*log);
    ASSERT_TRUE(piece.ok()) << piece.status();
    if (*piece == nullptr) break;
    EXPECT_EQ(asked_, pieces);  // nothing is asked for before the client has taken the last piece
    all += **piece;
  }
  ASSERT_EQ(all.size(), static_cast<size_t>(kSize));
  for (int64_t i = 0; i < kSize; ++i) {
    ASSERT_EQ(all[static_cast<size_t>(i)], ByteAt(i)) << i;
  }
}

TEST_F(NodeDownloadTest, AnEmptyLogIsOneToo) {
  Serve(0);
  const auto log = Open();
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(log->bytes, 0);
  EXPECT_EQ(*Next(*log), nullptr);
}

TEST_F(NodeDownloadTest, BreaksWhereAPartIsDroppedMeanwhile) {
  Serve(450'000);
  const auto log = Open();
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE(Next(*log).ok());
  dropped_ = 10;
  EXPECT_TRUE(absl::IsDataLoss(Next(*log).status()));
}

TEST_F(NodeDownloadTest, AreLimitedAtATimeAndEndWithTheirClients) {
  Serve(450'000);
  std::vector<web::RawLog> open;
  for (int i = 0; i < NodeDownload::kMost; ++i) open.push_back(*Open());
  EXPECT_TRUE(absl::IsResourceExhausted(Open().status()));
  ASSERT_TRUE(Next(open[0]).ok());
  bool called = false;
  open[0].source->Next([&](const auto&) { called = true; });
  open[0].source.reset();
  EXPECT_TRUE(Open().ok());
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace tony::appmaster
