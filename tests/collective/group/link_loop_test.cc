// Messages between two loops, and to a loop from raw sockets.
#include "collective/group/link_loop.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstring>

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

/// The callbacks of a loop, for other threads to wait for. Thread safe.
class Heard {
 public:
  LinkLoop::Callbacks Callbacks() {
    return {.on_message =
                [this](int rank, std::string message) {
                  Add(std::to_string(rank) + ": " + std::move(message));
                },
            .on_end =
                [this](int rank, bool in_order) {
                  Add(std::to_string(rank) + (in_order ? " said goodbye" : " is gone"));
                }};
  }
  void Add(std::string word) {
    const std::lock_guard lock(mutex_);
    words_.push_back(std::move(word));
    changed_.notify_all();
  }
  /// The next one; empty after a minute.
  std::string Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [&] { return !words_.empty(); })) return "";
    std::string word = std::move(words_.front());
    words_.pop_front();
    return word;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> words_;
};

class LinkLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    near_ = Descriptor(ends[0]);
    far_ = Descriptor(ends[1]);
  }
  /// With one peer, of which it has this end.
  static std::unique_ptr<LinkLoop> Loop(int peer, Descriptor& end, Heard& heard) {
    std::vector<LinkLoop::Peer> peers;
    peers.push_back({peer, std::move(end)});
    auto loop = LinkLoop::Start(std::move(peers), heard.Callbacks());
    EXPECT_TRUE(loop.ok()) << loop.status().message();
    return std::move(*loop);
  }

  Descriptor near_;
  Descriptor far_;
  Heard heard_;
};

TEST_F(LinkLoopTest, MessagesOfAllSizesBothWays) {
  Heard other;
  const auto first = Loop(1, near_, heard_);
  const auto second = Loop(0, far_, other);
  // Both send more than sockets hold before either has read.
  for (const size_t size : {size_t{1}, size_t{65532}, size_t{65536}, size_t{3} << 20, size_t{2}}) {
    first->Send(1, std::string(size, 'a'));
    second->Send(0, std::string(size, 'b'));
    EXPECT_EQ(other.Next(), "0: " + std::string(size, 'a'));
    EXPECT_EQ(heard_.Next(), "1: " + std::string(size, 'b'));
  }
  for (int i = 0; i < 1000; ++i) first->Send(1, std::to_string(i));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(other.Next(), "0: " + std::to_string(i));
}

TEST_F(LinkLoopTest, WhatIsSentLastArrivesBeforeTheGoodbye) {
  auto sender = Loop(1, near_, heard_);
  Heard other;
  const auto receiver = Loop(0, far_, other);
  const std::string large(size_t{1} << 20, 'x');
  sender->Send(1, large);
  sender.reset();
  EXPECT_EQ(other.Next(), "0: " + large);
  EXPECT_EQ(other.Next(), "0 said goodbye");
}

/// A function that is posted at the end may post another one, several times, which then sends a
/// message.
TEST_F(LinkLoopTest, WorkThatWorkHasPostedIsDoneBeforeTheGoodbye) {
  auto sender = Loop(1, near_, heard_);
  Heard other;
  const auto receiver = Loop(0, far_, other);
  std::function<void(int)> work = [&, loop = sender.get()](int left) {
    if (left == 0) return loop->Send(1, "last");
    loop->Post([&work, left] { work(left - 1); });
  };
  sender->Post([&] { work(10000); });
  sender->Stop();
  EXPECT_EQ(other.Next(), "0: last");
  EXPECT_EQ(other.Next(), "0 said goodbye");
}

TEST_F(LinkLoopTest, AnEndWithoutAGoodbye) {
  const auto loop = Loop(1, near_, heard_);
  ASSERT_EQ(write(far_.get(), "\5\0\0\0half", 8), 8);
  close(far_.Release());
  EXPECT_EQ(heard_.Next(), "1 is gone");
  // No rank is there to read it, and that is no error.
  loop->Send(1, "too late");
  loop->Send(7, "to nobody");
  loop->Post([this] { heard_.Add("still here"); });
  EXPECT_EQ(heard_.Next(), "still here");
}

TEST_F(LinkLoopTest, MessagesComeInPieces) {
  const auto loop = Loop(1, near_, heard_);
  const char bytes[] = "\3\0\0\0one\3\0\0\0two";
  for (size_t i = 0; i + 1 < sizeof(bytes); ++i) ASSERT_EQ(write(far_.get(), &bytes[i], 1), 1);
  EXPECT_EQ(heard_.Next(), "1: one");
  EXPECT_EQ(heard_.Next(), "1: two");
}

TEST_F(LinkLoopTest, ALengthOfNoMessageEndsTheLink) {
  const auto loop = Loop(1, near_, heard_);
  ASSERT_EQ(write(far_.get(), "GET / HTTP/1.1\r\n", 16), 16);
  EXPECT_EQ(heard_.Next(), "1 is gone");
}

TEST_F(LinkLoopTest, APeerThatDoesNotReadHoldsUpNobodyForLong) {
  auto loop = Loop(1, near_, heard_);
  loop->Send(1, std::string(size_t{8} << 20, 'x'));
  loop->Post([this] { heard_.Add("still here"); });
  EXPECT_EQ(heard_.Next(), "still here");
  loop.reset();  // a second
}

TEST_F(LinkLoopTest, WorkComesInItsOrderFromOneThread) {
  const auto loop = Loop(1, near_, heard_);
  std::vector<std::thread::id> threads;
  for (int i = 0; i < 100; ++i) {
    loop->Post([&, i] {
      threads.push_back(std::this_thread::get_id());
      heard_.Add(std::to_string(i));
    });
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(heard_.Next(), std::to_string(i));
  for (const auto& thread : threads) EXPECT_EQ(thread, threads[0]);
}

TEST_F(LinkLoopTest, WorkAtATime) {
  Heard heard;
  const auto loop = Loop(1, near_, heard);
  const auto now = std::chrono::steady_clock::now();
  loop->PostAt(now + std::chrono::hours(24 * 365), [&] { heard.Add("next year"); });
  loop->PostAt(now + std::chrono::milliseconds(40), [&] {
    heard.Add(std::chrono::steady_clock::now() >= now + std::chrono::milliseconds(40) ? "later"
                                                                                      : "too soon");
    loop->PostAt(now, [&] { heard.Add("set by a timer"); });
  });
  loop->PostAt(now, [&] { heard.Add("at once"); });
  EXPECT_EQ(heard.Next(), "at once");
  EXPECT_EQ(heard.Next(), "later");
  EXPECT_EQ(heard.Next(), "set by a timer");
  loop->PostAt(now, [&] { heard.Add("before the stop, or never"); });
  loop->Stop();
}

TEST_F(LinkLoopTest, AnEndThatIsNoConnectionIsRefused) {
  std::vector<LinkLoop::Peer> peers;
  peers.push_back({3, Descriptor()});
  auto refused = LinkLoop::Start(std::move(peers), heard_.Callbacks());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "rank 3 has no connection: Bad file descriptor");
}

}  // namespace
}  // namespace tony::collective
