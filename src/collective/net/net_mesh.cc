// One edge-triggered epoll(7) for all connections. Each lane remembers whether it is ready, so a
// system call is tried again only after an event for its connection.
#include "collective/net/net_mesh.h"

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "collective/base/spin_wait.h"
#include "collective/net/net_address.h"

namespace tony::collective {
namespace {

using std::chrono::steady_clock;

/// A message about a rank, on the words connection.
struct Word {
  uint32_t kind;
  uint32_t rank;
};
constexpr uint32_t kLeaves = 1;
constexpr uint32_t kHasEnded = 2;

/// The epoll data holds the rank above bit 16 and the stream below. These values are no streams.
constexpr uint64_t kWordsOfRank = 0xffff;
constexpr uint64_t kWake = ~uint64_t{0};
/// How long a closed stream's rank may take to say that it leaves. The word comes through another
/// connection, so it may arrive after the stream's end.
constexpr auto kDoubt = std::chrono::seconds(1);
/// With at most so many pending units, the mesh tries the sockets directly: one system call
/// instead of epoll's and the socket's.
constexpr size_t kFewUnits = 2;

Status HasLeft(int rank) { return {Code::kAborted, "rank " + std::to_string(rank) + " has left"}; }

Status HasChanged(int rank) {
  return {Code::kAborted, "what came from rank " + std::to_string(rank) +
                              " is not what it has sent (a MAC is wrong): somebody on the network "
                              "between them changes it"};
}

}  // namespace

Result<std::unique_ptr<NetMesh>> NetMesh::Create(int rank, std::vector<NetPeer> peers) {
  Descriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  Descriptor events(epoll_create1(EPOLL_CLOEXEC));
  if (wake.get() < 0 || events.get() < 0) return SocketError("cannot wait for other ranks");
  std::unique_ptr<NetMesh> mesh(
      new NetMesh(rank, std::move(wake), std::move(events), std::move(peers)));
  if (Status done = mesh->Watch(); !done.ok()) return done;
  return mesh;
}

NetMesh::NetMesh(int rank, Descriptor wake, Descriptor events, std::vector<NetPeer> peers)
    : rank_(rank), wake_(std::move(wake)), events_(std::move(events)), peers_(peers.size()) {
  for (size_t i = 0; i < peers.size(); ++i) {
    peers_[i].words = std::move(peers[i].words.socket);
    if (peers[i].words.keys) peers_[i].mac.emplace(*peers[i].words.keys);
    for (NetConnection& one : peers[i].streams) {
      Stream& stream = peers_[i].streams.emplace_back();
      stream.connection = std::move(one.socket);
      if (!one.keys) continue;
      stream.in.Authenticate(one.keys->receive);
      stream.out.Authenticate(one.keys->send);
    }
  }
}

NetMesh::~NetMesh() {
  // Closing a socket with unread bytes makes TCP reset the connection, and the other side could
  // lose the last words of this rank. So the words are read before.
  for (int rank = 0; rank < ranks(); ++rank) {
    if (rank != rank_) ReadWords(rank);
  }
}

Status NetMesh::Watch() {
  const auto add = [this](int descriptor, uint32_t events, uint64_t what) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = what;
    return epoll_ctl(events_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
  };
  bool all = add(wake_.get(), EPOLLIN, kWake);
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    if (static_cast<int>(rank) == rank_) continue;
    const uint64_t base = uint64_t{rank} << 16;
    all = all && add(peers_[rank].words.get(), EPOLLIN | EPOLLRDHUP | EPOLLET, base | kWordsOfRank);
    for (size_t i = 0; i < peers_[rank].streams.size(); ++i) {
      const int connection = peers_[rank].streams[i].connection.get();
      all = all && add(connection, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, base | i);
    }
  }
  return all ? Status() : SocketError("cannot wait for other ranks");
}

int NetMesh::streams() const {
  const size_t other = rank_ == 0 ? 1 : 0;
  return other < peers_.size() ? static_cast<int>(peers_[other].streams.size()) : 0;
}

void NetMesh::Send(int to, const void* data, size_t bytes) {
  Peer& peer = peers_[static_cast<size_t>(to)];
  // The data is not written to. The cast is needed because a lane has one unit type for both
  // directions.
  auto* at = static_cast<std::byte*>(const_cast<void*>(data));
  for (; bytes > 0; ++undone_) {
    const size_t size = std::min(bytes, kUnitBytes);
    peer.streams[peer.sent++ % peer.streams.size()].out.Add(at, size);
    at += size;
    bytes -= size;
  }
}

NetMesh::TransferHandle NetMesh::Receive(int from, void* data, size_t bytes) {
  Peer& peer = peers_[static_cast<size_t>(from)];
  TransferHandle handle = {.rank = from, .first = peer.received, .end = peer.received};
  auto* at = static_cast<std::byte*>(data);
  for (; bytes > 0; ++undone_) {
    const size_t size = std::min(bytes, kUnitBytes);
    peer.streams[peer.received++ % peer.streams.size()].in.Add(at, size);
    at += size;
    bytes -= size;
  }
  handle.end = peer.received;
  return handle;
}

Status NetMesh::Until(const TransferHandle& handle, Deadline deadline) {
  return Wait(&handle, deadline);
}
Status NetMesh::Finish(Deadline deadline) { return Wait(nullptr, deadline); }

bool NetMesh::IsDone(const TransferHandle* handle) const {
  if (handle == nullptr || undone_ == 0) return undone_ == 0;
  const std::vector<Stream>& streams = peers_[static_cast<size_t>(handle->rank)].streams;
  // A stream's units are done in order, so the last unit of each stream is enough.
  const uint64_t last = std::min<uint64_t>(streams.size(), handle->end - handle->first);
  for (uint64_t unit = handle->end - last; unit < handle->end; ++unit) {
    if (streams[unit % streams.size()].in.done() <= unit / streams.size()) return false;
  }
  return true;
}

Status NetMesh::Wait(const TransferHandle* handle, Deadline deadline) {
  if (!failure_.ok()) return failure_;
  // The deadline counts from the last byte moved, not from the start: a large vector on a slow
  // network is no failure while something moves.
  auto last = steady_clock::now();
  bool ask_all = false;
  for (;;) {
    const bool moved = Move(ask_all);
    if (IsDone(handle)) return {};
    ask_all = false;
    const auto now = steady_clock::now();
    if (moved) {
      last = now;
      continue;
    }
    // A message within a network often comes faster than a thread is woken, so the wait polls for
    // kSpinTime before it sleeps.
    if (now - last < kSpinTime) {
      sched_yield();
      ask_all = undone_ <= kFewUnits;
      if (ask_all) continue;
      if (Status looked = Poll({}); !looked.ok()) return Stop(std::move(looked));
      continue;
    }
    if (Status health = Health(); !health.ok()) return Stop(std::move(health));
    const Deadline until = deadline.Since(last);
    if (now >= until) return Stop(TooLate(handle, last));
    if (Status slept = Sleep(until); !slept.ok()) return Stop(std::move(slept));
  }
}

Status NetMesh::Stop(Status failure) {
  failure_ = std::move(failure);
  for (Peer& peer : peers_) {
    for (Stream& stream : peer.streams) {
      stream.in.Forget();
      stream.out.Forget();
    }
  }
  undone_ = 0;
  return failure_;
}

bool NetMesh::Move(bool ask_all) {
  bool moved = false;
  for (int turn = 1; turn < ranks(); ++turn) {
    // Each rank begins with its next one, so that not all send to the same rank at once.
    Peer& peer = peers_[static_cast<size_t>((rank_ + turn) % ranks())];
    for (Stream& stream : peer.streams) {
      if (stream.out.HasWork() && (stream.out.ready || ask_all)) moved = MoveOut(stream) || moved;
      if (stream.in.HasWork() && (stream.in.ready || ask_all))
        moved = MoveIn(peer, stream) || moved;
    }
  }
  return moved;
}

bool NetMesh::MoveOut(Stream& stream) {
  const uint64_t before = stream.out.done();
  const bool moved = stream.out.Send(stream.connection.get());
  undone_ -= stream.out.done() - before;
  return moved;
}

bool NetMesh::MoveIn(Peer& peer, Stream& stream) {
  const uint64_t before = stream.in.done();
  const bool moved = stream.in.Receive(stream.connection.get());
  undone_ -= stream.in.done() - before;
  peer.changed = peer.changed || stream.in.changed();
  return moved;
}

Status NetMesh::Sleep(Deadline deadline) {
  return Poll(std::chrono::ceil<std::chrono::milliseconds>(std::min(deadline, doubt_) -
                                                           steady_clock::now()));
}

Status NetMesh::Poll(std::chrono::milliseconds time) {
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(std::clamp<int64_t>(time.count(), 0, 60000)));
  if (count < 0 && errno != EINTR) return SocketError("cannot wait for other ranks");
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    OnEvent(event.data.u64, event.events);
  }
  return {};
}

void NetMesh::OnEvent(uint64_t what, uint32_t events) {
  if (what == kWake) {
    uint64_t count = 0;
    // The event only ends the sleep. Health() finds the cause afterwards.
    if (read(wake_.get(), &count, sizeof(count)) < 0) return;
    return;
  }
  const uint64_t rank = what >> 16;
  const uint64_t index = what & 0xffff;
  if (index == kWordsOfRank) return ReadWords(static_cast<int>(rank));
  // Errors and hang-ups make both directions ready: the next send() or recv() reports them.
  Stream& stream = peers_[rank].streams[index];
  if ((events & ~EPOLLOUT) != 0) stream.in.ready = true;
  if ((events & ~EPOLLIN) != 0) stream.out.ready = true;
}

void NetMesh::ReadWords(int rank) {
  Peer& peer = peers_[static_cast<size_t>(rank)];
  std::array<char, 256> piece;
  while (!peer.gone) {
    const ssize_t size = recv(peer.words.get(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    peer.gone = size <= 0;
    if (!peer.gone) peer.unread.append(piece.data(), static_cast<size_t>(size));
    TakeWords(peer);
  }
}

void NetMesh::TakeWords(Peer& peer) {
  size_t read = 0;
  const size_t frame = sizeof(Word) + (peer.mac ? FrameMac::kBytes : 0);
  for (Word word{}; peer.unread.size() - read >= frame && !peer.changed; read += frame) {
    const char* const at = &peer.unread[read];
    std::memcpy(&word, at, sizeof(word));
    peer.changed = peer.mac && !peer.mac->receive.Check(at, sizeof(word), at + sizeof(word));
    if (peer.changed) break;
    int nobody = -1;
    if (word.kind == kLeaves) peer.left = true;
    if (word.kind == kHasEnded) {
      failed_.compare_exchange_strong(nobody, static_cast<int>(word.rank));
    }
  }
  peer.unread.erase(0, read);
}

bool NetMesh::WaitsFor(const Peer& peer, NetLane Stream::*lane, bool closed_only) {
  return std::any_of(peer.streams.begin(), peer.streams.end(), [&](const Stream& stream) {
    return (stream.*lane).HasWork() && ((stream.*lane).closed() || !closed_only);
  });
}

Status NetMesh::Health() {
  if (left_) return {Code::kAborted, "this rank has left"};
  const auto now = steady_clock::now();
  // A closed stream is ambiguous: the rank has ended, or it is leaving and its word is still on
  // the way. Such a rank gets until `doubt_`. A closed words connection is a sure end.
  Deadline doubt = Deadline::max();
  for (int rank = 0; rank < ranks() && failed_ < 0; ++rank) {
    const Peer& peer = peers_[static_cast<size_t>(rank)];
    if (peer.changed) return HasChanged(rank);
    const bool closed = WaitsFor(peer, &Stream::in, true) || WaitsFor(peer, &Stream::out, true);
    if (peer.left && (closed || WaitsFor(peer, &Stream::out, false))) {
      return HasLeft(rank);
    }
    if (peer.left) continue;
    if (peer.gone || (closed && now >= doubt_)) {
      Fail(rank);
    } else if (closed) {
      doubt = std::min<Deadline>(doubt_, now + kDoubt);
    }
  }
  doubt_ = doubt;
  if (failed_ < 0) return {};
  // All ranks must hear who ended first. Otherwise they would take this rank, which stops because
  // of the failure, for the first one that ended.
  TellOfFailure();
  return {Code::kAborted, "rank " + std::to_string(failed_) + " has ended"};
}

Status NetMesh::WhoHasGone(const std::vector<int>& waited, Deadline deadline) {
  for (;;) {
    if (Status health = Health(); !health.ok()) return health;
    for (const int rank : waited) {
      if (peers_[static_cast<size_t>(rank)].left) return HasLeft(rank);
    }
    if (steady_clock::now() >= deadline) return {};
    if (Status slept = Sleep(deadline); !slept.ok()) return slept;
  }
}

Status NetMesh::TooLate(const TransferHandle* handle, Deadline last) const {
  int late = handle == nullptr ? -1 : handle->rank;
  for (NetLane Stream::*lane : {&Stream::in, &Stream::out}) {
    for (int rank = 0; rank < ranks() && late < 0; ++rank) {
      if (WaitsFor(peers_[static_cast<size_t>(rank)], lane, false)) late = rank;
    }
  }
  const auto waited =
      std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - last);
  return {Code::kDeadlineExceeded, "rank " + std::to_string(late) + " has not come in " +
                                       std::to_string(waited.count()) + " ms"};
}

void NetMesh::Tell(uint32_t kind, int about) {
  const Word word = {.kind = kind, .rank = static_cast<uint32_t>(about)};
  {
    const std::lock_guard lock(words_);
    for (Peer& peer : peers_) {
      if (peer.words.get() < 0) continue;
      std::string frame(reinterpret_cast<const char*>(&word), sizeof(word));
      if (peer.mac) {
        const MacTag tag = peer.mac->send.Next(&word, sizeof(word));
        frame.append(reinterpret_cast<const char*>(tag.data()), tag.size());
      }
      // A rank sends few words in its life, so the socket has room for them. A send that fails
      // means that the other rank has gone.
      (void)send(peer.words.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
  const uint64_t one = 1;
  // A full eventfd needs no write: the waiting thread is awake anyway.
  if (write(wake_.get(), &one, sizeof(one)) < 0) return;
}

void NetMesh::Fail(int rank) {
  int nobody = -1;
  failed_.compare_exchange_strong(nobody, rank);
  TellOfFailure();
}

void NetMesh::TellOfFailure() {
  if (!end_sent_.exchange(true)) Tell(kHasEnded, failed_);
}

void NetMesh::Leave() {
  if (left_.exchange(true)) return;
  Tell(kLeaves, rank_);
  // A half-close, so that data in flight still arrives.
  for (const Peer& peer : peers_) {
    for (const Stream& stream : peer.streams) shutdown(stream.connection.get(), SHUT_WR);
  }
}

}  // namespace tony::collective
