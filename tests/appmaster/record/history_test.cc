// The event stream: numbered, stamped, in the file and before the followers' eyes.
#include "appmaster/record/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "absl/strings/str_split.h"
#include "appmaster/record/past_reader.h"
#include "common/fake_clock.h"
#include "common/logging.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"
#include "tests/common/eventually.h"
#include "tests/os/files/file_size_limit.h"
#include "tests/os/files/small_disk.h"
#include "tests/os/temporary_folder.h"

namespace tony::appmaster {
namespace {

using ::testing::HasSubstr;

core::JobEventBody Note(const std::string& text) { return core::JobNote{text}; }

class HistoryTest : public ::testing::Test {
 protected:
  ~HistoryTest() override { (void)SetUpLogging("", LogLevel::kInfo); }

  // The events that followers see, from the first one on.
  std::vector<core::JobEvent> Shown() {
    EXPECT_TRUE(AwaitPast());
    std::lock_guard lock(log_.mutex());
    std::vector<core::JobEvent> events;
    int64_t next = 1;
    while (const auto event = log_.NextLocked(next)) {
      events.push_back(rpc::FromProto(*event).value());
      next = event->sequence() + 1;
    }
    return events;
  }
  // The past is read beside what happens.
  bool AwaitPast() {
    const auto awaited = [this](int64_t sequence = 1) {
      std::lock_guard lock(log_.mutex());
      return log_.AwaitsLocked(sequence);
    };
    if (!awaited()) return true;
    int64_t last = 1;
    while (awaited(last + 1)) ++last;
    const PastReader reader(
        log_, last, [this] { return std::make_unique<std::ifstream>(path_, std::ios::binary); }, 0,
        Duration::zero());
    return Eventually([&] { return !awaited(); });
  }
  std::vector<core::JobEvent> Written() const {
    std::vector<core::JobEvent> events;
    const std::vector<std::string> lines =
        absl::StrSplit(os::Contents(path_), '\n', absl::SkipEmpty());
    for (const std::string& line : lines) {
      const auto event = rpc::EventFromJsonLine(line);
      EXPECT_TRUE(event.ok()) << line;
      if (event.ok()) events.push_back(*event);
    }
    return events;
  }

  // The remains of a job whose last event has `tail`, on a disk that is full from its second event
  // on. Runs in a child that has the disk to itself. The child's exit code is 0, kNoDisk, or the
  // failure.
  void EndOnAFullDisk(const std::vector<std::string>& tail, bool tail_fits) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (!os::MountSmallDisk(folder_.path(), 2 << 20)) ::_exit(kNoDisk);
      RunOnAFullDisk(tail, tail_fits);
      std::fflush(stdout);
      ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << status;
    if (WEXITSTATUS(status) == kNoDisk) GTEST_SKIP() << "this user may not mount a small disk";
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  void RunOnAFullDisk(const std::vector<std::string>& tail, bool tail_fits) {
    auto history = History::Open(path_, clock_, log_);
    ASSERT_TRUE(history.ok()) << history.status();
    history->Record(Note("one"));
    const auto ballast = os::AppendFile::Open(folder_ / "ballast");
    ASSERT_TRUE(ballast.ok());
    while (ballast->Append(std::string(4096, 'x')).ok()) {
    }
    // More than there is room for.
    for (int i = 0; i < 1000; ++i) history->Record(Note(std::string(1000, 'y')));
    core::JobEnded ended;
    ended.verdict.sentence = "worker:0 exited with code 3";
    ended.verdict.exit = core::TaskExit{.code = 3, .tail = tail};
    history->Record(ended);
    const std::vector<core::JobEvent> written = Written();
    ASSERT_FALSE(written.empty());
    EXPECT_TRUE(written.front().body == Note("one"));
    EXPECT_EQ(written.back().sequence, 1002);
    if (!tail_fits) ended.verdict.exit->tail.clear();
    EXPECT_TRUE(written.back().body == core::JobEventBody(ended));
    EXPECT_TRUE(Shown().back().body == core::JobEventBody(ended) || !tail_fits);
    EXPECT_LT(Reserved(), 8192);
    rpc::EventLog another;
    EXPECT_TRUE(History::Open(path_, clock_, another)->ended());
  }
  // Bytes on the disk behind the file's end.
  int64_t Reserved() const {
    struct stat info {};
    EXPECT_EQ(::stat(path_.c_str(), &info), 0);
    return info.st_blocks * 512 - info.st_size;
  }

  static constexpr int kNoDisk = 77;
  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "events.jsonl";
  FakeClock clock_;
  rpc::EventLog log_;
};

TEST_F(HistoryTest, NumbersAndStampsEachEvent) {
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  const int64_t start = clock_.UnixMillis();
  history->Record(Note("one"));
  clock_.Advance(std::chrono::milliseconds(1500));
  history->Record(Note("two"));
  const std::vector<core::JobEvent> expected = {{1, start, Note("one")},
                                                {2, start + 1500, Note("two")}};
  EXPECT_TRUE(Shown() == expected);
  EXPECT_TRUE(Written() == expected);
}

TEST_F(HistoryTest, WritesEachEventAsItHappensIntoAPrivateFile) {
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  for (size_t count = 1; count <= 3; ++count) {
    history->Record(Note("line one\nline two \xFF"));
    EXPECT_EQ(Written().size(), count);
  }
  const std::string text = os::Contents(path_);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(os::ModeOf(path_), 0600u);
}

TEST_F(HistoryTest, KeepsWhatTheFileHas) {
  os::Put(path_, "{\"sequence\":\"1\",\"note\":{\"sentence\":\"before\"}}\n");
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  history->Record(Note("after"));
  ASSERT_EQ(Written().size(), 2u);
  EXPECT_TRUE(Written()[0].body == Note("before"));
  EXPECT_EQ(Written()[1].sequence, 2);
  EXPECT_EQ(Shown().size(), 2u);
}

TEST_F(HistoryTest, CutsOffALineThatWasNotFinishedAndSaysWhatIsMissing) {
  os::Put(path_, rpc::EventToJsonLine({1, 5, Note("one")}) + "\n" +
                     rpc::EventToJsonLine({4, 5, Note("four")}) + "\n" + "{\"seque");
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_FALSE(history->ended());
  history->Record(core::JobEnded{});
  const std::vector<core::JobEvent> shown = Shown();
  ASSERT_EQ(shown.size(), 4u);
  EXPECT_EQ(shown[1].sequence, 3);
  EXPECT_THAT(std::get<core::JobNote>(shown[1].body).sentence, HasSubstr("2 events"));
  EXPECT_TRUE(shown[2].body == Note("four"));
  EXPECT_EQ(Written().back().sequence, 5);
  rpc::EventLog another;
  EXPECT_TRUE(History::Open(path_, clock_, another)->ended());
}

TEST_F(HistoryTest, AFullDiskIsSaidOnceAndFollowersGoOn) {
  const std::string daemon_log = folder_ / "am.log";
  ASSERT_TRUE(SetUpLogging(daemon_log, LogLevel::kInfo).ok());
  // Larger than the daemon's log, for which the disk is not full.
  std::string before;
  for (int i = 1; i <= 1000; ++i) {
    before += rpc::EventToJsonLine({i, 0, Note("before")}) + "\n";
  }
  os::Put(path_, before);
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  {
    const os::FileSizeLimit full(before.size());
    for (int i = 0; i < 3; ++i) history->Record(Note("x"));
  }
  EXPECT_EQ(Written().size(), 1000u);
  const std::string said = os::Contents(daemon_log);
  EXPECT_EQ(Shown().size(), 1003u);
  EXPECT_THAT(said, HasSubstr(path_));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(HistoryTest, WhatAFullDiskLacksIsMadeUpForWhenThereIsRoom) {
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  history->Record(Note("one"));
  {
    // Room for a part of the next line.
    const os::FileSizeLimit full(os::Contents(path_).size() + 5);
    history->Record(Note("two"));
    history->Record(Note("three"));
    EXPECT_EQ(Written().size(), 1u);
  }
  history->Record(Note("four"));
  EXPECT_TRUE(Written() == Shown());
  EXPECT_EQ(Written().size(), 4u);
}

TEST_F(HistoryTest, TheVerdictIsKeptOnADiskThatIsFullToTheEnd) {
  EndOnAFullDisk(std::vector<std::string>(20, std::string(4096, 'z')), /*tail_fits=*/true);
}

TEST_F(HistoryTest, AVerdictThatIsTooLargeForAFullDiskIsKeptWithoutItsOutput) {
  EndOnAFullDisk(std::vector<std::string>(200, std::string(4096, 'z')), /*tail_fits=*/false);
}

TEST_F(HistoryTest, RoomForTheLastEventIsReservedAndGivenBack) {
  auto history = History::Open(path_, clock_, log_);
  ASSERT_TRUE(history.ok()) << history.status();
  const int64_t before = Reserved();
  if (before < (256 << 10)) GTEST_SKIP() << "this file system reserves no room";
  for (int i = 0; i < 1000; ++i) history->Record(Note(std::string(1000, 'y')));
  EXPECT_GE(Reserved(), 256 << 10);
  history->Record(core::JobEnded{});
  EXPECT_LT(Reserved(), 8192);
}

TEST_F(HistoryTest, AFileThatCannotBeMadeIsNamed) {
  const auto history = History::Open(folder_ / "none/events.jsonl", clock_, log_);
  EXPECT_EQ(history.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(history.status().message()), HasSubstr(folder_ / "none"));
}

}  // namespace
}  // namespace tony::appmaster
