#include "executor/output/report_pipe.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "common/clock.h"
#include "tests/common/loop_driver.h"
#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ReportPipeTest : public ::testing::Test {
 protected:
  // Writes without waiting, as tony.report() does. False: the pipe is full.
  bool Write(const std::string& text) {
    return write(writer_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  // Nobody tells when a report was read, so the condition is looked at again and again.
  template <typename Condition>
  bool Await(Condition condition) {
    std::unique_ptr<EventLoop::Handle> timer;
    const std::function<void()> look = [&] {
      driver_.Changed();
      timer = driver_.loop().After(std::chrono::milliseconds(2), look);
    };
    look();
    return driver_.Await(condition);
  }
  int64_t Step() const {
    const auto progress = reports_.progress();
    return progress ? progress->step : -1;
  }

  os::TemporaryFolder folder_;
  LoopDriver driver_;
  const SystemClock clock_;
  std::vector<std::string> defects_;
  ProgramReports reports_{clock_, [this](const std::string& why) { defects_.push_back(why); }};
  std::unique_ptr<ReportPipe> pipe_ =
      ReportPipe::Open(driver_.loop(), folder_ / "progress", reports_).value();
  const os::UniqueFd writer_{
      open((folder_ / "progress").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
};

TEST_F(ReportPipeTest, LinesOfSeveralWritersArriveWhole) {
  EXPECT_EQ(os::ModeOf(folder_ / "progress") & 0777u, 0600u);
  const os::UniqueFd other(open((folder_ / "progress").c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(Write("step=1\n"));
  EXPECT_EQ(write(other.get(), "loss=2\n", 7), 7);
  EXPECT_TRUE(Await([&] { return reports_.values().size() == 2; }));
  EXPECT_THAT(reports_.values(), ElementsAre(Pair("loss", "2"), Pair("step", "1")));
}

TEST_F(ReportPipeTest, AWriterNeedsNoReaderAtTheMoment) {
  EXPECT_TRUE(Write("step=1\n"));  // the loop does not run
  pipe_->Finish();
  EXPECT_EQ(Step(), 1);
}

TEST_F(ReportPipeTest, OfAFullPipeTheNewestLinesAreParsed) {
  int step = 0;
  while (Write("step=" + std::to_string(1'000'000 + step) + " n" + std::to_string(step % 1000) +
               "=1\n")) {
    ++step;
  }
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_GT(step, 2000);
  EXPECT_TRUE(Await([&] { return Step() >= 0; }));
  EXPECT_EQ(Step(), 1'000'000 + step - 1);
  EXPECT_EQ(reports_.values().count("n0"), 0u) << "the oldest lines were parsed, too";
  EXPECT_THAT(defects_, IsEmpty());
}

TEST_F(ReportPipeTest, AtTheEndAllIsParsed) {
  int step = 0;
  while (Write("step=" + std::to_string(step) + "\n")) ++step;
  pipe_->Finish();
  EXPECT_EQ(Step(), step - 1);
  EXPECT_TRUE(Write("step=7\n")) << "the pipe is still full";
}

TEST_F(ReportPipeTest, ThePipeGoesWithItsReader) {
  pipe_.reset();
  EXPECT_NE(access((folder_ / "progress").c_str(), F_OK), 0);
}

TEST_F(ReportPipeTest, AnOldPipeIsReplaced) {
  EXPECT_TRUE(Write("step=1\n"));
  pipe_ = ReportPipe::Open(driver_.loop(), folder_ / "progress", reports_).value();
  pipe_->Finish();
  EXPECT_EQ(Step(), -1);
}

}  // namespace
}  // namespace tony::executor
