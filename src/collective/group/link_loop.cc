// Waits with ppoll(2) for the non-blocking sockets and an eventfd, which wakes the thread for
// posted work. Send() only posts: all sockets are used by the loop's thread alone.
#include "collective/group/link_loop.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "collective/base/spin_wait.h"
#include "collective/base/thread.h"

namespace tony::collective {
namespace {

constexpr auto kGoodbyeTime = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kNow{0};

/// Sleeps with ppoll(), since poll() rounds the timeout to milliseconds.
int Sleep(std::vector<pollfd>& watched, std::optional<std::chrono::nanoseconds> timeout) {
  const auto left = std::max(timeout.value_or(kNow), kNow);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec time = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  return ppoll(watched.data(), watched.size(), timeout ? &time : nullptr, nullptr);
}

std::string Frame(std::string_view message) {
  const auto length = static_cast<uint32_t>(message.size());
  std::string frame(reinterpret_cast<const char*>(&length), sizeof(length));
  return frame.append(message);
}

}  // namespace

Result<std::unique_ptr<LinkLoop>> LinkLoop::Start(std::vector<Peer> peers, Callbacks callbacks) {
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) {
    return Status(Code::kResourceExhausted,
                  std::string("cannot make an eventfd: ") + std::strerror(errno));
  }
  for (const Peer& peer : peers) {
    const int flags = fcntl(peer.connection.get(), F_GETFL);
    if (flags < 0 || fcntl(peer.connection.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
      return Status(Code::kInvalidArgument, "rank " + std::to_string(peer.rank) +
                                                " has no connection: " + std::strerror(errno));
    }
  }
  return std::unique_ptr<LinkLoop>(
      new LinkLoop(std::move(peers), std::move(callbacks), std::move(wake)));
}

LinkLoop::LinkLoop(std::vector<Peer> peers, Callbacks callbacks, Descriptor wake)
    : callbacks_(std::move(callbacks)), wake_(std::move(wake)) {
  for (Peer& peer : peers) {
    // A child of fork() closes its copy, so that the other side notices at once when this process
    // ends.
    guards_.emplace_back(peer.connection.get());
    Link& link = links_[peer.rank];
    link.connection = std::move(peer.connection);
    if (peer.keys) link.mac.emplace(*peer.keys);
  }
  thread_ = StartThread([this] { Run(); });
}

LinkLoop::~LinkLoop() { Stop(); }

void LinkLoop::Stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Wake();
  thread_.join();
}

void LinkLoop::Wake() {
  const uint64_t one = 1;
  // The write fails only if the counter is full; then the thread is awake anyway.
  if (write(wake_.get(), &one, sizeof(one)) < 0) return;
}

void LinkLoop::Post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  Wake();
}

void LinkLoop::PostAt(Deadline when, std::function<void()> work) {
  // Timers belong to the loop's thread, so a new timer is added by posted work.
  Post([this, when, work = std::move(work)]() mutable { timers_.emplace(when, std::move(work)); });
}

std::optional<std::chrono::nanoseconds> LinkLoop::TimeToTimer() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first - std::chrono::steady_clock::now();
}

void LinkLoop::RunTimers() {
  const Deadline now = std::chrono::steady_clock::now();
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
  }
}

void LinkLoop::Send(int rank, std::string_view message) {
  Post([this, rank, frame = Frame(message)] {
    const auto found = links_.find(rank);
    if (found == links_.end() || found->second.ended) return;
    Append(found->second, frame);
    Write(found->second);
  });
}

void LinkLoop::Run() {
  for (;;) {
    Wait(TimeToTimer(), /*sending=*/false);
    bool stopping = false;
    // When stopping, work that posted work has posted is run, too, before the goodbyes: Send()
    // posts its messages.
    while (RunPosted(stopping) && stopping) continue;
    if (stopping) return SendGoodbyes();
    if (!timers_.empty()) RunTimers();
  }
}

bool LinkLoop::RunPosted(bool& stopping) {
  std::deque<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
    stopping = stopping_;
  }
  // The work runs without the mutex, so that it may post.
  for (const auto& one : work) one();
  return !work.empty();
}

LinkLoop::PollSet LinkLoop::ToPoll(bool sending) const {
  PollSet set;
  for (const auto& [rank, link] : links_) {
    const int input = sending ? 0 : POLLIN;
    const int output = link.unsent.empty() ? 0 : POLLOUT;
    if (link.ended || (input | output) == 0) continue;
    set.descriptors.push_back(
        {.fd = link.connection.get(), .events = static_cast<short>(input | output), .revents = 0});
    set.ranks.push_back(rank);
  }
  if (!sending) set.descriptors.push_back({.fd = wake_.get(), .events = POLLIN, .revents = 0});
  return set;
}

void LinkLoop::Wait(std::optional<std::chrono::nanoseconds> timeout, bool sending) {
  PollSet polled = ToPoll(sending);
  std::vector<pollfd>& watched = polled.descriptors;
  int ready = 0;
  const auto look = [&] { return (ready = poll(watched.data(), watched.size(), 0)) != 0; };
  // An answer often comes within 50 microseconds, less than it takes to wake a thread, so the loop
  // polls before it sleeps.
  if (!SpinFor(kSpinTime, look)) ready = Sleep(watched, timeout);
  if (ready < 0) return;
  uint64_t count = 0;
  if (!sending && watched.back().revents != 0 && read(wake_.get(), &count, sizeof(count)) < 0) {
    return;
  }
  for (size_t i = 0; i < polled.ranks.size(); ++i) {
    const int rank = polled.ranks[i];
    Link& link = links_.at(rank);
    if ((watched[i].revents & POLLOUT) != 0) Write(link);
    if (!sending && (watched[i].revents & ~POLLOUT) != 0) Receive(rank, link);
  }
}

void LinkLoop::Receive(int rank, Link& link) {
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t size = recv(link.connection.get(), piece.data(), piece.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return Finish(rank, link, false);
    link.received.append(piece.data(), static_cast<size_t>(size));
    if (!TakeMessages(rank, link)) return;
  }
}

bool LinkLoop::TakeMessages(int rank, Link& link) {
  size_t taken = 0;
  uint32_t length = 0;
  const size_t tag = link.mac ? FrameMac::kBytes : 0;
  while (link.received.size() - taken >= sizeof(length)) {
    const char* const frame = &link.received[taken];
    std::memcpy(&length, frame, sizeof(length));
    const size_t bytes = sizeof(length) + length;
    // A length beyond the limit is rejected before its bytes are waited for.
    const bool fits = length <= kMostMessageBytes;
    if (fits && link.received.size() - taken < bytes + tag) break;
    const bool believed =
        fits && (!link.mac || link.mac->receive.Check(frame, bytes, frame + bytes));
    if (!believed || length == 0) {
      Finish(rank, link, believed);
      return false;
    }
    callbacks_.on_message(rank, link.received.substr(taken + sizeof(length), length));
    taken += bytes + tag;
  }
  link.received.erase(0, taken);
  return true;
}

void LinkLoop::Append(Link& link, const std::string& frame) {
  link.unsent += frame;
  if (!link.mac) return;
  const MacTag tag = link.mac->send.Next(frame.data(), frame.size());
  link.unsent.append(reinterpret_cast<const char*>(tag.data()), tag.size());
}

void LinkLoop::Write(Link& link) {
  size_t sent = 0;
  while (sent < link.unsent.size()) {
    const ssize_t size =
        send(link.connection.get(), &link.unsent[sent], link.unsent.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      // The other side reads no more. The pending bytes are dropped; Receive() reports the end when
      // all that was received is read.
      if (errno != EAGAIN) sent = link.unsent.size();
      break;
    }
    sent += static_cast<size_t>(size);
  }
  link.unsent.erase(0, sent);
}

void LinkLoop::Finish(int rank, Link& link, bool in_order) {
  link.ended = true;
  link.unsent.clear();
  link.received.clear();
  callbacks_.on_end(rank, in_order);
}

void LinkLoop::SendGoodbyes() {
  // Received bytes are ignored from here on. The limit keeps a rank that does not read from holding
  // up the shutdown.
  const auto end = std::chrono::steady_clock::now() + kGoodbyeTime;
  for (auto& [rank, link] : links_) {
    if (link.ended) continue;
    Append(link, Frame(""));
    Write(link);
  }
  const auto left = [&]() -> std::chrono::nanoseconds {
    return end - std::chrono::steady_clock::now();
  };
  const auto sending = [](const auto& one) { return !one.second.unsent.empty(); };
  while (std::any_of(links_.begin(), links_.end(), sending) && left().count() > 0) {
    Wait(left(), /*sending=*/true);
  }
}

}  // namespace tony::collective
