// The event loop: order of what is posted, timers, watched descriptors and signals, and that none
// of them is heard after its handle is gone.
#include "common/event_loop.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/common/loop_driver.h"

namespace tony {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using Handle = std::unique_ptr<EventLoop::Handle>;

// Both ends of a pipe; reading does not wait.
class Pipe {
 public:
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read_fd_ = ends[0];
    write_fd_ = ends[1];
  }
  ~Pipe() {
    ::close(read_fd_);
    CloseWriteEnd();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_fd() const { return read_fd_; }
  void Write(const std::string& text) const {
    EXPECT_EQ(::write(write_fd_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Up to `limit` bytes; "" at the end, "-" when there is nothing yet.
  std::string Read(size_t limit) const {
    std::string text(limit, '\0');
    const ssize_t count = ::read(read_fd_, text.data(), limit);
    return count < 0 ? "-" : text.substr(0, static_cast<size_t>(count));
  }
  int write_fd() const { return write_fd_; }
  void CloseWriteEnd() {
    if (write_fd_ >= 0) ::close(write_fd_);
    write_fd_ = -1;
  }

 private:
  int read_fd_ = -1;
  int write_fd_ = -1;
};

class EventLoopTest : public ::testing::Test {
 protected:
  // Whatever is due by now has run when this returns.
  void RunWhatIsDue() {
    bool over = false;
    const Handle end = loop_.After(milliseconds(30), [&] {
      over = true;
      driver_.Changed();
    });
    ASSERT_TRUE(driver_.Await([&] { return over; }));
  }

  LoopDriver driver_;
  EventLoop& loop_ = driver_.loop();
  std::vector<int> calls_;
};

TEST_F(EventLoopTest, RunsWhatIsPostedInOrder) {
  for (int i = 1; i <= 3; ++i) loop_.Post([this, i] { calls_.push_back(i); });
  loop_.Post([this] {
    loop_.Post([this] {
      calls_.push_back(5);
      loop_.Stop();
    });
    calls_.push_back(4);
  });
  loop_.Run();
  EXPECT_THAT(calls_, ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(EventLoopTest, StopsAfterTheRunningFunctionAndGoesOnInTheNextRun) {
  loop_.Post([this] {
    loop_.Stop();
    calls_.push_back(1);
  });
  loop_.Post([this] {
    calls_.push_back(2);
    loop_.Stop();
  });
  loop_.Run();
  EXPECT_THAT(calls_, ElementsAre(1));
  loop_.Run();
  EXPECT_THAT(calls_, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, AStopBeforeTheRunCounts) {
  loop_.Post([this] { calls_.push_back(1); });
  loop_.Stop();
  loop_.Run();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(EventLoopTest, TakesPostsOfManyThreadsEachInItsOrder) {
  constexpr int kThreads = 4;
  constexpr int kPosts = 2000;
  std::vector<std::vector<int>> seen(kThreads);
  int total = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < kPosts; ++i) {
        loop_.Post([&, thread, i] {
          seen[thread].push_back(i);
          if (++total == kThreads * kPosts) driver_.Changed();
        });
      }
    });
  }
  const bool all = driver_.Await([&] { return total == kThreads * kPosts; });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(all);
  for (const std::vector<int>& numbers : seen) {
    for (int i = 0; i < kPosts; ++i) ASSERT_EQ(numbers[i], i);
  }
}

TEST_F(EventLoopTest, FiresEachTimerOnceAndNotTooEarly) {
  const SystemClock clock;
  const TimePoint before = clock.Now();
  const Handle second = loop_.After(milliseconds(20), [&] {
    EXPECT_GE(clock.Now() - before, milliseconds(20));
    calls_.push_back(2);
  });
  const Handle first = loop_.After(milliseconds(10), [&] {
    EXPECT_GE(clock.Now() - before, milliseconds(10));
    calls_.push_back(1);
  });
  const Handle overdue = loop_.After(milliseconds(-5), [&] { calls_.push_back(0); });
  const Handle never = loop_.After(Duration::max(), [&] { calls_.push_back(9); });
  RunWhatIsDue();
  EXPECT_THAT(calls_, ElementsAre(0, 1, 2));
}

TEST_F(EventLoopTest, ATimerWithoutItsHandleNeverFires) {
  (void)loop_.After(milliseconds(0), [&] { calls_.push_back(1); });
  Handle other = loop_.After(milliseconds(5), [&] { calls_.push_back(2); });
  loop_.Post([&] { other.reset(); });
  RunWhatIsDue();
  EXPECT_TRUE(calls_.empty());
}

TEST_F(EventLoopTest, ATimerThatIsDueCanStillBeCancelled) {
  Handle first, second;
  // Both are due in the same round; whichever comes first takes the other's turn away.
  first = loop_.After(milliseconds(0), [&] {
    calls_.push_back(1);
    second.reset();
  });
  second = loop_.After(milliseconds(0), [&] {
    calls_.push_back(2);
    first.reset();
  });
  RunWhatIsDue();
  EXPECT_EQ(calls_.size(), 1u);
}

TEST_F(EventLoopTest, ATimersFunctionMayReplaceItsOwnHandle) {
  Handle timer;
  const auto witness = std::make_shared<int>(0);
  std::function<void()> beat = [&, witness] {
    calls_.push_back(++*witness);
    timer.reset();
    if (*witness < 3) timer = loop_.After(milliseconds(1), beat);
    driver_.Changed();
  };
  timer = loop_.After(milliseconds(1), beat);
  ASSERT_TRUE(driver_.Await([&] { return *witness >= 3; }));
  RunWhatIsDue();
  EXPECT_THAT(calls_, ElementsAre(1, 2, 3));
}

TEST_F(EventLoopTest, CallsForEachThingToReadAndForTheEnd) {
  Pipe pipe;
  std::vector<std::string> read;
  const Handle watch = loop_.WatchReadable(pipe.read_fd(), [&] {
    read.push_back(pipe.Read(3));
    driver_.Changed();
  });
  pipe.Write("abcde");
  ASSERT_TRUE(driver_.Await([&] { return read.size() >= 2; }));
  EXPECT_THAT(read, ElementsAre("abc", "de"));
  pipe.CloseWriteEnd();
  ASSERT_TRUE(driver_.Await([&] { return read.size() >= 3; }));
  EXPECT_EQ(read[2], "");
}

TEST_F(EventLoopTest, AWatchMayEndInItsOwnCallAndItsDescriptorBeUsedAgain) {
  auto pipe = std::make_unique<Pipe>();
  const int number = pipe->read_fd();
  Handle watch;
  watch = loop_.WatchReadable(number, [&] {
    calls_.push_back(1);
    watch.reset();
    pipe.reset();
    driver_.Changed();
  });
  pipe->Write("x");
  ASSERT_TRUE(driver_.Await([&] { return !calls_.empty(); }));

  Pipe next;
  ASSERT_EQ(next.read_fd(), number);
  watch = loop_.WatchReadable(number, [&] {
    EXPECT_EQ(next.Read(10), "y");
    calls_.push_back(2);
    driver_.Changed();
  });
  next.Write("y");
  ASSERT_TRUE(driver_.Await([&] { return calls_.size() >= 2; }));
  EXPECT_THAT(calls_, ElementsAre(1, 2));
}

TEST_F(EventLoopTest, AReadableDescriptorWithoutItsHandleIsNotHeard) {
  Pipe one, two;
  Handle first, second;
  first = loop_.WatchReadable(one.read_fd(), [&] {
    calls_.push_back(1);
    first.reset();
    second.reset();
  });
  second = loop_.WatchReadable(two.read_fd(), [&] {
    calls_.push_back(2);
    first.reset();
    second.reset();
  });
  one.Write("x");
  two.Write("x");
  RunWhatIsDue();
  EXPECT_EQ(calls_.size(), 1u);
}

TEST_F(EventLoopTest, LeavesAWatchedDescriptorOpenAndAsItWas) {
  Pipe pipe;
  const int flags = ::fcntl(pipe.read_fd(), F_GETFL);
  Handle watch = loop_.WatchReadable(pipe.read_fd(), [] {});
  watch.reset();
  EXPECT_EQ(::fcntl(pipe.read_fd(), F_GETFL), flags);
  pipe.Write("x");
  EXPECT_EQ(pipe.Read(10), "x");
}

TEST_F(EventLoopTest, TellsEachArrivalOfASignal) {
  const Handle watch = loop_.WatchSignals({SIGUSR1, SIGUSR2}, [&](int number) {
    calls_.push_back(number);
    driver_.Changed();
  });
  for (const int number : {SIGUSR2, SIGUSR1, SIGUSR1}) ASSERT_EQ(::raise(number), 0);
  ASSERT_TRUE(driver_.Await([&] { return calls_.size() >= 3; }));
  EXPECT_THAT(calls_, ::testing::UnorderedElementsAre(SIGUSR1, SIGUSR1, SIGUSR2));
}

TEST_F(EventLoopTest, GivesASignalItsMeaningBackWithTheHandle) {
  Handle watch = loop_.WatchSignals({SIGUSR1}, [&](int number) { calls_.push_back(number); });
  struct sigaction action {};
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_NE(action.sa_handler, SIG_DFL);
  ASSERT_EQ(::raise(SIGUSR1), 0);
  watch.reset();
  ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
  RunWhatIsDue();
  EXPECT_TRUE(calls_.empty());
}

// A user of nohup wants the program to outlive the terminal.
TEST_F(EventLoopTest, AHangUpThatIsIgnoredStaysSo) {
  const auto before = signal(SIGHUP, SIG_IGN);
  const Handle watch = loop_.WatchSignals({SIGHUP, SIGUSR1}, [](int) {});
  struct sigaction action {};
  EXPECT_EQ(sigaction(SIGHUP, nullptr, &action), 0);
  EXPECT_EQ(action.sa_handler, SIG_IGN);
  EXPECT_EQ(sigaction(SIGUSR1, nullptr, &action), 0);
  EXPECT_NE(action.sa_handler, SIG_DFL);
  signal(SIGHUP, before);
}

TEST_F(EventLoopTest, ASignalsHandleMayEndInItsOwnCall) {
  Handle watch;
  watch = loop_.WatchSignals({SIGUSR1}, [&](int number) {
    calls_.push_back(number);
    watch.reset();
  });
  ASSERT_EQ(::raise(SIGUSR1), 0);
  ASSERT_EQ(::raise(SIGUSR1), 0);
  RunWhatIsDue();
  EXPECT_THAT(calls_, ElementsAre(SIGUSR1));
}

}  // namespace
}  // namespace tony
