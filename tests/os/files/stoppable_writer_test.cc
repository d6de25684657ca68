// Output that nobody takes: a full pipe, a halted terminal, a reader that has gone.
#include "os/files/stoppable_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/eventfd.h>
#include <termios.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "common/process_setup.h"

namespace tony::os {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader.Reset(ends[0]);
    writer.Reset(ends[1]);
  }
  UniqueFd reader, writer;
};

class StoppableWriterTest : public ::testing::Test {
 protected:
  StoppableWriterTest() { SetUpProcess(); }  // without SIGPIPE

  const UniqueFd stop_{eventfd(0, EFD_CLOEXEC)};
  const std::string much_ = std::string(1 << 20, 'x');
};

TEST_F(StoppableWriterTest, WritesAllThatIsTaken) {
  Pipe pipe;
  size_t taken = 0;
  std::thread reader([&] {
    char buffer[65536];
    for (ssize_t count; (count = read(pipe.reader.get(), buffer, sizeof buffer)) > 0;) {
      taken += static_cast<size_t>(count);
    }
  });
  {
    StoppableWriter writer(pipe.writer.get(), stop_.get());
    EXPECT_EQ(writer.Write(much_), absl::OkStatus());
    // The pipe that others share still blocks.
    EXPECT_EQ(fcntl(pipe.writer.get(), F_GETFL) & O_NONBLOCK, 0);
  }
  pipe.writer.Reset();
  reader.join();
  EXPECT_EQ(taken, much_.size());
}

TEST_F(StoppableWriterTest, AFullPipeIsGivenUp) {
  Pipe pipe;
  StoppableWriter writer(pipe.writer.get(), stop_.get());
  std::thread stopper([&] { (void)eventfd_write(stop_.get(), 1); });
  EXPECT_TRUE(absl::IsCancelled(writer.Write(much_)));
  stopper.join();
}

TEST_F(StoppableWriterTest, AReaderThatHasGoneIsTold) {
  Pipe pipe;
  StoppableWriter writer(pipe.writer.get(), stop_.get());
  pipe.reader.Reset();
  EXPECT_TRUE(absl::IsFailedPrecondition(writer.Write("text")));
}

TEST_F(StoppableWriterTest, AHaltedTerminalIsGivenUpAndAClosedOneToo) {
  int master = -1, slave = -1;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  UniqueFd screen(master);
  const UniqueFd terminal(slave);
  ASSERT_EQ(tcflow(slave, TCOOFF), 0);  // Ctrl-S
  StoppableWriter writer(slave, stop_.get());
  std::thread stopper([&] { (void)eventfd_write(stop_.get(), 1); });
  EXPECT_TRUE(absl::IsCancelled(writer.Write(much_)));
  stopper.join();
  screen.Reset();
  EXPECT_TRUE(absl::IsCancelled(StoppableWriter(slave, -1).Write("text")));
}

TEST_F(StoppableWriterTest, AFileTakesAll) {
  const UniqueFd file(open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(StoppableWriter(file.get(), stop_.get()).Write(much_), absl::OkStatus());
}

}  // namespace
}  // namespace tony::os
