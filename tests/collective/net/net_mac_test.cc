// Somebody on the network between two ranks, through whom all that they say passes.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/group/link_loop.h"
#include "collective/net/net_mesh.h"

namespace tony::collective {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

std::pair<Descriptor, Descriptor> Connected() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Between the two ends that it gives away. What comes from the first end may be changed, once, on
/// its way to the second.
class Relay {
 public:
  /// Gets all that has come from the first end since the last change, and returns what is passed
  /// on; empty: it waits for more.
  using Change = std::function<std::string(const std::string&)>;

  explicit Relay(Change change) : change_(std::move(change)) {
    std::tie(first_, near_) = Connected();
    std::tie(second_, far_) = Connected();
    thread_ = std::thread([this] { Run(); });
  }
  ~Relay() { thread_.join(); }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  Descriptor TakeFirst() { return std::move(first_); }
  Descriptor TakeSecond() { return std::move(second_); }

 private:
  /// Until one of the ends is closed.
  void Run() {
    std::string kept;
    for (;;) {
      std::array<pollfd, 2> both = {pollfd{.fd = near_.get(), .events = POLLIN, .revents = 0},
                                    {.fd = far_.get(), .events = POLLIN, .revents = 0}};
      poll(both.data(), both.size(), -1);
      if (both[0].revents != 0) {
        if (!Read(near_.get(), kept)) break;
        std::string changed = change_ ? change_(kept) : kept;
        if (!changed.empty()) {
          if (changed != kept) change_ = nullptr;
          kept.clear();
          Write(far_.get(), changed);
        }
      }
      std::string back;
      if (both[1].revents != 0) {
        if (!Read(far_.get(), back)) break;
        Write(near_.get(), back);
      }
    }
    near_ = Descriptor();
    far_ = Descriptor();
  }
  static bool Read(int from, std::string& to) {
    std::array<char, 65536> piece;
    const ssize_t size = recv(from, piece.data(), piece.size(), 0);
    if (size > 0) to.append(piece.data(), static_cast<size_t>(size));
    return size > 0;
  }
  static void Write(int to, const std::string& bytes) {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t size = send(to, &bytes[at], bytes.size() - at, MSG_NOSIGNAL);
      if (size > 0) at += static_cast<size_t>(size);
      if (size > 0 || errno == EINTR) continue;
      if (errno != EAGAIN) return;  // nobody hears it
      pollfd one = {.fd = to, .events = POLLOUT, .revents = 0};
      poll(&one, 1, -1);
    }
  }

  Change change_;
  Descriptor first_, near_, far_, second_;
  std::thread thread_;
};

/// Flips a bit of the byte at `at`, and passes nothing on before it is there.
Relay::Change Flip(size_t at) {
  return [at](const std::string& bytes) {
    std::string changed = bytes;
    if (changed.size() <= at) return std::string();
    changed[at] = static_cast<char>(changed[at] ^ 1);
    return changed;
  };
}

/// The keys that ranks 0 and 1 have of a connection.
std::pair<ConnectionKeys, ConnectionKeys> KeysOfBoth(uint8_t seed) {
  ConnectionKeys first;
  first.send.fill(seed);
  first.receive.fill(static_cast<uint8_t>(seed + 1));
  return {first, {.send = first.receive, .receive = first.send}};
}

/// The meshes of ranks 0 and 1, with one stream; rank 0's words and data pass through relays.
struct Two {
  Two(bool wire_mac, Relay::Change data_change, Relay::Change words_change = nullptr)
      : data(std::move(data_change)), words(std::move(words_change)) {
    const auto [keys0, keys1] = KeysOfBoth(1);
    const auto [words0, words1] = KeysOfBoth(3);
    std::vector<NetPeer> of0(2);
    std::vector<NetPeer> of1(2);
    of0[1].streams.push_back({data.TakeFirst(), std::nullopt});
    of1[0].streams.push_back({data.TakeSecond(), std::nullopt});
    if (wire_mac) of0[1].streams[0].keys = keys0;
    if (wire_mac) of1[0].streams[0].keys = keys1;
    of0[1].words = {words.TakeFirst(), words0};
    of1[0].words = {words.TakeSecond(), words1};
    for (auto* peers : {&of0, &of1}) {
      auto mesh = NetMesh::Create(peers == &of0 ? 0 : 1, std::move(*peers));
      EXPECT_TRUE(mesh.ok()) << mesh.status().message();
      meshes.push_back(std::move(*mesh));
    }
  }
  /// The data that rank 1 receives of `sent`, and the final status.
  std::pair<std::string, Status> Pass(const std::string& sent) {
    std::string got(sent.size(), '?');
    auto receiving = std::async(std::launch::async, [&] {
      meshes[1]->Receive(0, got.data(), got.size());
      return meshes[1]->Finish(After(kPatience));
    });
    meshes[0]->Send(1, sent.data(), sent.size());
    const Status done = meshes[0]->Finish(After(kPatience));
    EXPECT_TRUE(done.ok()) << done.message();
    Status received = receiving.get();
    return {got, std::move(received)};
  }

  Relay data;
  Relay words;
  std::vector<std::unique_ptr<NetMesh>> meshes;  // which end the relays before these go
};

constexpr char kChanged[] =
    "what came from rank 0 is not what it has sent (a MAC is wrong): somebody on the network "
    "between them changes it";

TEST(NetMacTest, WhatPassesUnchangedIsTaken) {
  for (const bool wire_mac : {false, true}) {
    Two ranks(wire_mac, nullptr);
    for (const size_t size : {size_t{1}, size_t{100}, NetMesh::kUnitBytes + 1, size_t{3} << 20}) {
      const std::string sent(size, 'x');
      const auto [got, done] = ranks.Pass(sent);
      EXPECT_TRUE(done.ok()) << done.message();
      EXPECT_TRUE(got == sent) << size;
    }
  }
}

TEST(NetMacTest, ChangedDataAreAnError) {
  constexpr size_t kSize = 1000;
  // The first byte, the last one, one of the MAC.
  for (const size_t at : {size_t{0}, kSize - 1, kSize, kSize + FrameMac::kBytes - 1}) {
    Two ranks(true, Flip(at));
    const auto [got, done] = ranks.Pass(std::string(kSize, 'x'));
    EXPECT_EQ(done.code(), Code::kAborted) << at;
    EXPECT_EQ(done.message(), kChanged);
    EXPECT_EQ(ranks.meshes[1]->Finish(After(kPatience)).message(), kChanged) << "and stays one";
  }
  // In the second unit of several.
  Two ranks(true, Flip(NetMesh::kUnitBytes + FrameMac::kBytes + 5));
  EXPECT_EQ(ranks.Pass(std::string(3 * NetMesh::kUnitBytes, 'x')).second.message(), kChanged);
}

/// The design states this limit of data without a MAC: an attacker on the way can change it.
TEST(NetMacTest, WithoutAMacChangedDataAreTaken) {
  Two ranks(false, Flip(10));
  const auto [got, done] = ranks.Pass(std::string(1000, 'x'));
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(got, std::string(10, 'x') + "y" + std::string(989, 'x'));
}

/// A whole frame with its MAC, said twice, or in another's place.
TEST(NetMacTest, FramesInAnotherOrderAreAnError) {
  constexpr size_t kFrame = 100 + FrameMac::kBytes;
  const auto repeat = [](const std::string& bytes) {
    if (bytes.size() < 2 * kFrame) return std::string();
    return bytes.substr(0, kFrame) + bytes.substr(0, kFrame);
  };
  Two ranks(true, repeat);
  const std::string sent(100, 'x');
  std::string first(100, '?');
  std::string second(100, '?');
  for (int frame = 0; frame < 2; ++frame) {
    ranks.meshes[0]->Send(1, sent.data(), sent.size());
    EXPECT_TRUE(ranks.meshes[0]->Finish(After(kPatience)).ok());
  }
  ranks.meshes[1]->Receive(0, first.data(), first.size());
  EXPECT_TRUE(ranks.meshes[1]->Finish(After(kPatience)).ok());
  ranks.meshes[1]->Receive(0, second.data(), second.size());
  EXPECT_EQ(ranks.meshes[1]->Finish(After(kPatience)).message(), kChanged);
}

/// Words have a MAC without being asked for one.
TEST(NetMacTest, ChangedWordsAreNotBelieved) {
  Two ranks(false, nullptr, Flip(4));  // of whom a word is
  ranks.meshes[0]->Fail(0);
  char byte = 0;
  ranks.meshes[1]->Receive(0, &byte, 1);
  const Status done = ranks.meshes[1]->Finish(After(kPatience));
  EXPECT_EQ(done.code(), Code::kAborted);
  EXPECT_EQ(done.message(), kChanged);
}

TEST(NetMacTest, ChangedMessagesAreToldToNobody) {
  const auto [keys0, keys1] = KeysOfBoth(5);
  const std::string message = "what comes next";
  // Its length, its first byte, its MAC, and none of it.
  for (const size_t at : {size_t{0}, size_t{4}, 4 + message.size(), size_t{1000}}) {
    Relay relay(at == 1000 ? nullptr : Flip(at));
    std::promise<std::string> heard;
    std::promise<bool> ended;
    std::vector<LinkLoop::Peer> of0;
    std::vector<LinkLoop::Peer> of1;
    of0.push_back({1, relay.TakeFirst(), keys0});
    of1.push_back({0, relay.TakeSecond(), keys1});
    auto sender = LinkLoop::Start(
        std::move(of0), {.on_message = [](int, const std::string&) {}, .on_end = [](int, bool) {}});
    auto receiver = LinkLoop::Start(
        std::move(of1), {.on_message = [&](int, std::string text) { heard.set_value(text); },
                         .on_end = [&](int, bool in_order) { ended.set_value(in_order); }});
    ASSERT_TRUE(sender.ok() && receiver.ok());
    (*sender)->Send(1, message);
    auto told = heard.get_future();
    auto end = ended.get_future();
    if (at == 1000) {
      EXPECT_EQ(told.get(), message);
      (*sender)->Stop();
      EXPECT_TRUE(end.get());
      continue;
    }
    (*sender)->Send(1, std::string(3000, 'x'));  // for a length that has become larger
    EXPECT_FALSE(end.get());
    EXPECT_NE(told.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  }
}

}  // namespace
}  // namespace tony::collective
