// A log in segments: what is kept, what is dropped, and that both is said.
#include "logs/segmented_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "logs/log_segments.h"
#include "tests/os/files/file_size_limit.h"
#include "tests/os/temporary_folder.h"

namespace tony::logs {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SegmentedLogTest : public ::testing::Test {
 protected:
  void Open(int64_t segment_bytes, int64_t total_bytes) {
    auto log =
        SegmentedLog::Open(path_, {segment_bytes, total_bytes},
                           [this](const std::string& sentence) { said_.push_back(sentence); });
    ASSERT_TRUE(log.ok()) << log.status();
    log_.emplace(*std::move(log));
  }
  void Append(const std::string& text, int64_t unix_millis = 1000) {
    log_->Append(text.data(), text.size(), unix_millis);
  }
  std::string Segment(int number) const { return os::Contents(LogSegmentPath(path_, number)); }
  /// The output of `cat stdout.log*`.
  std::string Whole() const {
    std::string whole;
    for (const int number : FindLogSegments(path_)) whole += Segment(number);
    return whole;
  }
  std::vector<LogTime> Times(int number) const {
    const os::UniqueFd fd(::open(LogTimesPath(path_, number).c_str(), O_RDONLY | O_CLOEXEC));
    return ReadLogTimes(fd.get(), 0, 1000);
  }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "stdout.log";
  std::optional<SegmentedLog> log_;
  std::vector<std::string> said_;
};

TEST_F(SegmentedLogTest, WhoeverMayEnterTheFolderReadsIt) {
  ASSERT_EQ(::chmod(path_.substr(0, path_.rfind('/')).c_str(), 0710), 0);
  Open(64, 1 << 20);
  Append("first line\n");
  EXPECT_EQ(os::ModeOf(path_), 0640u);
  EXPECT_EQ(os::ModeOf(LogTimesPath(path_, 1)), 0640u);
}

TEST_F(SegmentedLogTest, ASegmentEndsWithALine) {
  Open(64, 1 << 20);
  Append("12345678901234567890\n");  // and 16 bytes of times
  Append("second line 90\nthird line 890123456\n");
  EXPECT_EQ(Segment(1), "12345678901234567890\nsecond line 90\n");
  EXPECT_EQ(Segment(2), "third line 890123456\n");
  EXPECT_EQ(os::ModeOf(LogSegmentPath(path_, 2)), 0600u);
  EXPECT_EQ(os::ModeOf(LogTimesPath(path_, 2)), 0600u);
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(SegmentedLogTest, ALineThatHasBegunIsFinishedInItsSegment) {
  Open(64, 1 << 20);
  Append(std::string(40, 'a'));
  Append(std::string(20, 'b') + "\nnext\n");
  EXPECT_EQ(Segment(1), std::string(40, 'a') + std::string(20, 'b') + "\n");
  EXPECT_EQ(Segment(2), "next\n");
}

TEST_F(SegmentedLogTest, AHundredMegabytesWithoutANewlineAreDividedAnywhere) {
  Open(16 << 20, 64 << 20);
  const std::string block(1'000'000, 'x');
  for (int i = 0; i < 100; ++i) Append(block, 1000 + 20 * i);
  int64_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    kept += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_LE(kept, (64 << 20) + (1 << 20));
  EXPECT_GE(kept, 48 << 20);
  EXPECT_THAT(said_, SizeIs(1));
}

TEST_F(SegmentedLogTest, TheFirstSegmentAndTheLastOnesAreKept) {
  Open(100, 400);
  for (int i = 0; i < 40; ++i) Append(absl::StrCat("line ", 10 + i, " of text\n"), 1000 + i);
  const std::vector<int> segments = FindLogSegments(path_);
  ASSERT_THAT(segments, SizeIs(5));  // the first, a notice, and three
  EXPECT_THAT(Segment(1), ::testing::StartsWith("line 10 of text\n"));
  EXPECT_THAT(Whole(), ::testing::EndsWith("line 49 of text\n"));
  const std::string notice = Segment(segments[1]);
  EXPECT_THAT(notice, AllOf(HasSubstr("[tony: "), HasSubstr("were dropped here"),
                            HasSubstr("tony.task.log.max-size")));
  EXPECT_EQ(std::count(notice.begin(), notice.end(), '\n'), 1);
  // The notice counts what is missing.
  const std::string whole = Whole();
  const size_t kept = whole.size() - notice.size();
  EXPECT_THAT(notice, HasSubstr(absl::StrCat("[tony: ", 40 * 16 - kept, " bytes")));
  ASSERT_THAT(said_, SizeIs(1));  // once, however many go
  EXPECT_THAT(said_[0], HasSubstr(path_));
  EXPECT_THAT(Times(segments[1]), SizeIs(1));
  EXPECT_FALSE(os::Exists(LogTimesPath(path_, segments[1] - 1)));
}

TEST_F(SegmentedLogTest, GoesOnInTheNewestSegment) {
  Open(64, 1 << 20);
  Append(std::string(47, 'a') + "\n");
  Append("b\n");
  log_.reset();
  Open(64, 1 << 20);
  Append("c\n");
  EXPECT_EQ(Segment(2), "b\nc\n");
}

TEST_F(SegmentedLogTest, NotesWhenBytesCameButNotTooOften) {
  Open(1 << 20, 1 << 22);
  Append("one\n", 5000);
  Append("two\n", 5009);
  Append("three\n", 5010);
  Append("four\n", 4000);  // the clock was set back
  EXPECT_THAT(Times(1), ElementsAre(LogTime{0, 5000}, LogTime{8, 5010}, LogTime{14, 4000}));
}

TEST_F(SegmentedLogTest, TheTimesAreBoundedAsWell) {
  Open(1000, 4000);
  for (int i = 0; i < 1000; ++i) Append("x", 1000 + 10 * i);
  int64_t kept = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    kept += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_LE(kept, 4 * 1250 + 200);  // a quarter more for a line's end, and the notice
}

TEST_F(SegmentedLogTest, AFullDiskIsSaidInTheLogAtItsPlace) {
  Open(1 << 20, 1 << 22);
  Append("before\n");
  {
    const os::FileSizeLimit full(100);
    Append("half " + std::string(200, 'x') + "\n");
    Append("lost\n");
    ASSERT_THAT(said_, SizeIs(1));
    EXPECT_THAT(said_[0], AllOf(HasSubstr("output is being lost"), HasSubstr(path_)));
  }
  Append("after\n");
  const size_t lost = 206 + 5 - 93;
  EXPECT_EQ(Whole(), absl::StrCat("before\nhalf ", std::string(88, 'x'), "\n[tony: ", lost,
                                  " bytes of output were lost here: cannot write '", path_,
                                  "': File too large]\nafter\n"));
  log_->Finish();
  ASSERT_THAT(said_, SizeIs(2));
  EXPECT_THAT(said_[1], HasSubstr(absl::StrCat(lost, " bytes of output were lost")));
}

TEST_F(SegmentedLogTest, ASmallRoomIsNotFilledWithHalfANotice) {
  Open(1 << 20, 1 << 22);
  Append("before\n");
  {
    const os::FileSizeLimit full(7);
    Append("lost\n");
  }
  {
    const os::FileSizeLimit full(20);
    Append("lost\n");
    EXPECT_EQ(Whole(), "before\n");
  }
  log_->Finish();
  EXPECT_THAT(Whole(), HasSubstr("before\n[tony: 10 bytes of output were lost here"));
}

TEST_F(SegmentedLogTest, ASegmentThatCannotBeMadeLosesOutputOnly) {
  Open(64, 1 << 20);
  Append(std::string(47, 'a') + "\n");
  std::filesystem::create_directory(LogSegmentPath(path_, 2));
  Append("lost\n");
  ASSERT_THAT(said_, SizeIs(1));
  EXPECT_THAT(said_[0], HasSubstr(LogSegmentPath(path_, 2)));
  std::filesystem::remove(LogSegmentPath(path_, 2));
  Append("kept\n");
  EXPECT_THAT(Segment(2), AllOf(HasSubstr("[tony: 5 bytes"), ::testing::EndsWith("kept\n")));
}

TEST_F(SegmentedLogTest, AFolderThatIsMissingIsNamed) {
  const auto log = SegmentedLog::Open(folder_ / "none/stdout.log", {}, [](const std::string&) {});
  EXPECT_EQ(log.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tony::logs
