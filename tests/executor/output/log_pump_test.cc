// Output from a pipe into its file: all of it, unchanged, and never in the program's way.
#include "executor/output/log_pump.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "executor/output/output_tail.h"
#include "logs/log_segments.h"
#include "os/files/files.h"
#include "tests/common/eventually.h"
#include "tests/common/loop_driver.h"
#include "tests/os/files/file_size_limit.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

class LogPumpTest : public ::testing::Test {
 protected:
  LogPumpTest() { ::signal(SIGPIPE, SIG_IGN); }

  LogPump::Callbacks MakeCallbacks() {
    return {[this](const char* data, size_t size) {
              tail_.Add(0, data, size);
              observed_ += size;
              driver_.Changed();
            },
            [this](const std::string& sentence) { losses_.push_back(sentence); }};
  }
  void Open(const std::string& path, const LogOptions& options = {}) {
    auto pump = LogPump::Open(driver_.loop(), clock_, path, options, MakeCallbacks());
    ASSERT_TRUE(pump.ok()) << pump.status();
    pump_ = *std::move(pump);
  }

  // As a program would: the whole text, waiting where the pipe is full.
  void Write(const std::string& text) const { EXPECT_TRUE(WriteAll(pump_->write_end(), text)); }
  static bool WriteAll(int fd, const std::string& text) {
    return os::WriteAll(fd, text.data(), text.size(), "the pipe").ok();
  }

  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "stdout.log";
  LoopDriver driver_;
  OutputTail tail_{20};
  size_t observed_ = 0;
  std::vector<std::string> losses_;
  SystemClock clock_;
  std::unique_ptr<LogPump> pump_;
};

TEST_F(LogPumpTest, CarriesWhatIsWrittenIntoAPrivateFile) {
  const os::ScopedUmask none(0);
  Open(path_);
  const std::string text("caf\xE9\0\r\n\xFF", 9);
  Write(text);
  ASSERT_TRUE(driver_.Await([&] { return observed_ == text.size(); }));
  EXPECT_EQ(os::Contents(path_), text);
  EXPECT_EQ(os::ModeOf(path_), 0600u);
}

TEST_F(LogPumpTest, AppendsToWhatIsThere) {
  os::Put(path_, "before\n");
  Open(path_);
  Write("after\n");
  ASSERT_TRUE(driver_.Await([&] { return observed_ > 0; }));
  EXPECT_EQ(os::Contents(path_), "before\nafter\n");
}

TEST_F(LogPumpTest, TakesAHundredMegabytesWithoutANewline) {
  constexpr size_t kBytes = 100'000'000;
  Open(path_);
  std::thread program([fd = ::dup(pump_->write_end())] {
    const std::string block(1'000'000, 'x');
    for (size_t written = 0; written < kBytes; written += block.size()) {
      EXPECT_TRUE(WriteAll(fd, block));
    }
    ::close(fd);
  });
  const bool all = driver_.Await([&] { return observed_ == kBytes; });
  program.join();
  ASSERT_TRUE(all);
  EXPECT_EQ(std::filesystem::file_size(path_), kBytes);
  ASSERT_EQ(tail_.Lines().size(), 1u);
  EXPECT_EQ(tail_.Lines()[0], std::string(OutputTail::kMaxLineBytes, 'x'));
}

TEST_F(LogPumpTest, GivesTheProgramABlockingPipe) {
  Open(path_);
  EXPECT_EQ(::fcntl(pump_->write_end(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(LogPumpTest, DrainsWhatIsThereWithoutTheLoop) {
  Open(path_);
  pump_->Drain();  // nothing there: does not wait
  Write("one\n");
  Write("two\n");
  pump_->Drain();
  EXPECT_EQ(os::Contents(path_), "one\ntwo\n");
}

// A pump that has read the first piece of a line pauses, and the other stream is readable at once.
TEST_F(LogPumpTest, AnotherStreamCanBeReadFirst) {
  Open(path_);
  bool error_read = false;
  const auto errors = LogPump::Open(driver_.loop(), clock_, folder_ / "stderr.log", {},
                                    {[&](const char* data, size_t size) {
                                       tail_.Add(1, data, size);
                                       error_read = true;
                                       driver_.Changed();
                                     },
                                     [](const std::string&) {}, [this] { pump_->ReadWaiting(); }});
  ASSERT_TRUE(errors.ok()) << errors.status();
  Write("training");
  ASSERT_TRUE(driver_.Await([&] { return observed_ > 0; }));
  Write(" 1 of 2\n");
  ASSERT_TRUE(WriteAll((*errors)->write_end(), "no such dataset\n"));
  ASSERT_TRUE(driver_.Await([&] { return error_read; }));
  EXPECT_EQ(tail_.Lines(), (std::vector<std::string>{"training 1 of 2", "no such dataset"}));
}

TEST_F(LogPumpTest, DoesNotKeepUpWithAProcessThatWritesForEver) {
  Open(path_);
  std::atomic<bool> flooding = false;
  std::thread flood([&, fd = ::dup(pump_->write_end())] {
    const std::string block(65'536, 'y');
    while (WriteAll(fd, block)) flooding = true;
    ::close(fd);
  });
  EXPECT_TRUE(Eventually([&] { return flooding.load(); }));
  pump_->Drain();
  pump_.reset();  // the flood's next write fails
  flood.join();
  EXPECT_GT(observed_, 0u);
}

TEST_F(LogPumpTest, AClosedPipeIsTheEnd) {
  Open(path_);
  Write("last words");
  pump_->CloseWriteEnd();
  ASSERT_TRUE(driver_.Await([&] { return observed_ == 10; }));
  bool later = false;
  const auto timer = driver_.loop().After(std::chrono::milliseconds(5), [&] {
    later = true;
    driver_.Changed();
  });
  ASSERT_TRUE(driver_.Await([&] { return later; }));  // the loop sees the end of the pipe
  pump_->Drain();
  EXPECT_EQ(observed_, 10u);
  EXPECT_EQ(os::Contents(path_), "last words");
}

TEST_F(LogPumpTest, AFullDiskIsSaidAndTheProgramIsStillHeard) {
  Open(path_);
  const os::FileSizeLimit full(0);
  for (int i = 0; i < 3; ++i) {
    Write("line\n");
    pump_->Drain();
  }
  EXPECT_EQ(tail_.Lines().size(), 3u);
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_THAT(losses_[0], HasSubstr(path_));
  EXPECT_THAT(losses_[0], HasSubstr("File too large"));
  pump_->Finish();
  ASSERT_EQ(losses_.size(), 2u);
  EXPECT_THAT(losses_[1], HasSubstr("15 bytes of output were lost"));
}

TEST_F(LogPumpTest, SecretsReachNeitherTheLogNorTheTail) {
  LogOptions options;
  options.redact = {"customer-\\d+"};
  Open(path_, options);
  Write("password=hun");
  pump_->Drain();  // the pieces of the output are cut here
  Write("ter2 for customer-");
  Write("42\nnext");
  pump_->Drain();
  const std::string expected = "password=[redacted] for [redacted]\nnext";
  EXPECT_EQ(os::Contents(path_), expected);
  EXPECT_THAT(tail_.Lines(), ::testing::ElementsAre("password=[redacted] for [redacted]", "next"));
}

TEST_F(LogPumpTest, APatternThatIsNoneIsRefused) {
  LogOptions options;
  options.redact = {"("};
  const auto pump = LogPump::Open(driver_.loop(), clock_, path_, options, MakeCallbacks());
  EXPECT_EQ(pump.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(LogPumpTest, ALogHasItsTimes) {
  const int64_t before = clock_.UnixMillis();
  Open(path_);
  Write("one\n");
  pump_->Drain();
  const os::UniqueFd fd(::open(logs::LogTimesPath(path_, 1).c_str(), O_RDONLY | O_CLOEXEC));
  const std::vector<logs::LogTime> times = logs::ReadLogTimes(fd.get(), 0, 10);
  ASSERT_EQ(times.size(), 1u);
  EXPECT_GE(times[0].unix_millis, before);
  EXPECT_LE(times[0].unix_millis, clock_.UnixMillis());
}

TEST_F(LogPumpTest, ALogGoesOnInSegments) {
  LogOptions options;
  options.limits = {100, 1000};
  Open(path_, options);
  for (int i = 0; i < 20; ++i) {
    Write("a line of text\n");
    pump_->Drain();
  }
  EXPECT_GT(logs::FindLogSegments(path_).size(), 2u);
}

TEST_F(LogPumpTest, AFileThatCannotBeMadeIsNamed) {
  const std::string path = folder_ / "none/stdout.log";
  const auto pump = LogPump::Open(driver_.loop(), clock_, path, {}, MakeCallbacks());
  EXPECT_EQ(pump.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(pump.status().message()), HasSubstr(folder_ / "none"));
}

}  // namespace
}  // namespace tony::executor
