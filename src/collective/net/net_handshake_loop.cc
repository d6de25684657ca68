// A state machine for each connection, over one poll(2) and non-blocking sockets, so that no slow
// or hostile peer holds up the others.
#include "collective/net/net_handshake_loop.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include "collective/group/switch_points.h"
#include "collective/net/net_address.h"

namespace tony::collective {
namespace {

/// How long a guest may take to send its answer.
constexpr auto kStrangersTime = std::chrono::seconds(5);
/// The pause before a listener that closed a connection without a word is tried again.
constexpr auto kRest = std::chrono::milliseconds(50);
/// The most guests at once; one more replaces the oldest guest.
constexpr size_t kMostGuests = 512;
/// Channel numbers. Data streams have the numbers from 1 up to `streams`.
constexpr uint32_t kWords = 0;
constexpr uint32_t kLink = 0xffff;

bool SendWhole(int connection, const std::string& message) {
  // A handshake message always fits into the empty send buffer of a new connection, so a partial
  // write is a failure.
  return send(connection, message.data(), message.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size());
}

}  // namespace

NetHandshakeLoop::NetHandshakeLoop(int listener, const NetTable& table)
    : listener_(listener),
      table_(table),
      ranks_(static_cast<int>(table.addresses.size())),
      handshake_(table.secret, table.run, table.addresses),
      linked_(table.addresses.size()) {
  found_.peers.resize(table.addresses.size());
}

std::string NetHandshakeLoop::Name(int rank) const {
  return "rank " + std::to_string(rank) + " at " + table_.addresses[static_cast<size_t>(rank)];
}

Status NetHandshakeLoop::Start() {
  for (int rank = 0; rank < table_.rank; ++rank) {
    std::vector<uint32_t> numbers = {kWords};
    for (int stream = 1; stream <= table_.streams; ++stream) {
      numbers.push_back(static_cast<uint32_t>(stream));
    }
    if (rank == 0) numbers.push_back(kLink);
    for (const uint32_t number : numbers) {
      PendingConnection& connection = pending_.emplace_back();
      connection.channel = {.acceptor = rank,
                            .connector = table_.rank,
                            .ranks = ranks_,
                            .number = number,
                            .streams = static_cast<uint32_t>(table_.streams)};
      if (Status done = Connect(connection); !done.ok()) return done;
    }
  }
  return {};
}

Status NetHandshakeLoop::Connect(PendingConnection& connection) const {
  const int rank = connection.channel.acceptor;
  auto address = NetAddress::Parse(table_.addresses[static_cast<size_t>(rank)]);
  if (!address.ok()) return {Code::kFailedPrecondition, address.status().message()};
  connection.connection = Descriptor(
      socket(address->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
  if (connection.connection.get() < 0) return SocketError("cannot make a socket");
  connection.stage = Stage::kConnecting;
  connection.until = Deadline::max();
  connection.received.clear();
  if (connect(connection.connection.get(), address->data(), address->size()) != 0 &&
      errno != EINPROGRESS) {
    return {Code::kFailedPrecondition,
            "cannot connect to " + Name(rank) + ": " + std::strerror(errno)};
  }
  return {};
}

Status NetHandshakeLoop::UntilAll(Deadline deadline) {
  while (!AllAreHere()) {
    if (std::chrono::steady_clock::now() >= deadline) return Missing();
    Wait(deadline);
    size_t index = 0;
    for (auto connection = pending_.begin(); connection != pending_.end(); ++index) {
      auto outcome = Advance(*connection, index < ready_.size() && ready_[index] != 0);
      if (!outcome.ok()) return outcome.status();
      connection =
          *outcome == Outcome::kGoesOn ? std::next(connection) : pending_.erase(connection);
    }
    if (!listener_ready_) continue;
    if (Status done = Accept(); !done.ok()) return done;
  }
  return {};
}

// poll() ignores entries with a negative descriptor, so resting connections keep their place in the
// list, and ready_ stays aligned with pending_.
void NetHandshakeLoop::Wait(Deadline deadline) {
  std::vector<pollfd> watched;
  for (const PendingConnection& connection : pending_) {
    deadline = std::min(deadline, connection.until);
    const short events = connection.stage == Stage::kConnecting ? POLLOUT : POLLIN;
    watched.push_back({.fd = connection.stage == Stage::kResting ? -1 : connection.connection.get(),
                       .events = events,
                       .revents = 0});
  }
  watched.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (poll(watched.data(), watched.size(),
           static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60000))) < 0) {
    watched.assign(watched.size(), {});
  }
  ready_.clear();
  for (const pollfd& one : watched) ready_.push_back(one.revents != 0 ? 1 : 0);
  listener_ready_ = ready_.back() != 0;
  ready_.pop_back();
}

Status NetHandshakeLoop::Accept() {
  for (;;) {
    Descriptor guest(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (guest.get() < 0) {
      const bool lack = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      if (lack) return SocketError("cannot accept other ranks' connections");
      return {};  // no guest is left, or one has gone again
    }
    auto challenge = NetHandshake::NewNumber();
    if (!challenge.ok()) return challenge.status();
    PrepareStream(guest.get());
    if (!SendWhole(guest.get(), NetHandshake::Challenge(*challenge))) continue;
    // Strangers that connect and say nothing must not keep ranks out: the oldest guest gives way.
    const auto is_guest = [](const PendingConnection& connection) { return !connection.IsOwn(); };
    if (std::count_if(pending_.begin(), pending_.end(), is_guest) >=
        static_cast<std::ptrdiff_t>(kMostGuests)) {
      pending_.erase(std::find_if(pending_.begin(), pending_.end(), is_guest));
    }
    PendingConnection& connection = pending_.emplace_back();
    connection.connection = std::move(guest);
    connection.challenge = *challenge;
    connection.until = After(kStrangersTime);
  }
}

bool NetHandshakeLoop::Receive(PendingConnection& connection, bool& closed) {
  size_t wanted = NetHandshake::kAnswerBytes;
  if (connection.stage == Stage::kChallenge) wanted = NetHandshake::kChallengeBytes;
  if (connection.stage == Stage::kAcceptance) wanted = NetHandshake::kAcceptanceBytes;
  // Never more than this stage's message: the bytes behind the handshake are data, and belong to
  // the mesh.
  std::string piece(wanted - connection.received.size(), '\0');
  const ssize_t size = recv(connection.connection.get(), piece.data(), piece.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  closed = size <= 0;
  if (!closed) connection.received.append(piece, 0, static_cast<size_t>(size));
  return connection.received.size() == wanted;
}

Result<NetHandshakeLoop::Outcome> NetHandshakeLoop::Advance(PendingConnection& connection,
                                                            bool ready) {
  const bool late = std::chrono::steady_clock::now() >= connection.until;
  if (!connection.IsOwn()) {
    if (ready) return AdvanceGuest(connection);
    return late ? Outcome::kClosed : Outcome::kGoesOn;
  }
  if (connection.stage == Stage::kResting && late) {
    if (Status done = Connect(connection); !done.ok()) return done;
  }
  if (!ready) return Outcome::kGoesOn;
  auto outcome = AdvanceOwn(connection);
  if (!outcome.ok() || *outcome != Outcome::kClosed) return outcome;
  // The acceptor closes a connection without a word when it has too many guests, or when this rank
  // was too slow. Both may be over at the next attempt.
  connection.connection = Descriptor();
  connection.stage = Stage::kResting;
  connection.until = After(kRest);
  return Outcome::kGoesOn;
}

Result<NetHandshakeLoop::Outcome> NetHandshakeLoop::AdvanceOwn(PendingConnection& connection) {
  const int rank = connection.channel.acceptor;
  if (connection.stage == Stage::kConnecting) {
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(connection.connection.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      return Status(Code::kFailedPrecondition,
                    "cannot connect to " + Name(rank) + ": " + std::strerror(error));
    }
    PrepareStream(connection.connection.get());
    connection.stage = Stage::kChallenge;
    return Outcome::kGoesOn;
  }
  bool closed = false;
  if (!Receive(connection, closed)) return closed ? Outcome::kClosed : Outcome::kGoesOn;
  const std::string received = std::exchange(connection.received, {});
  const Status stranger(Code::kFailedPrecondition,
                        Name(rank) + " is not of this job: something else has its port");
  if (connection.stage == Stage::kChallenge) {
    const auto challenge = NetHandshake::ReadChallenge(received);
    if (!challenge) return stranger;
    auto number = NetHandshake::NewNumber();
    if (!number.ok()) return number.status();
    connection.challenge = *challenge;
    connection.answer = handshake_.Answer(connection.channel, *number, *challenge);
    connection.stage = Stage::kAcceptance;
    return SendWhole(connection.connection.get(), connection.answer) ? Outcome::kGoesOn
                                                                     : Outcome::kClosed;
  }
  if (received == NetHandshake::Refusal()) {
    return Status(Code::kFailedPrecondition,
                  Name(rank) + " refuses rank " + std::to_string(table_.rank) + " of " +
                      std::to_string(ranks_) + ": it has another key, or a rank of this number");
  }
  if (!handshake_.IsAcceptance(received, connection.answer, connection.challenge)) return stranger;
  Keep(connection.channel, std::move(connection.connection),
       handshake_.ConnectorKeys(connection.answer, connection.challenge));
  return Outcome::kTaken;
}

// A guest that fails the handshake is closed and the wait goes on: any program may connect to the
// port. On an own connection the same is an error, since the table says who listens there.
NetHandshakeLoop::Outcome NetHandshakeLoop::AdvanceGuest(PendingConnection& connection) {
  bool closed = false;
  if (!Receive(connection, closed)) return closed ? Outcome::kClosed : Outcome::kGoesOn;
  const auto channel = handshake_.Check(connection.received, connection.challenge, table_.rank);
  if (!channel || !Fits(*channel) || !IsFree(*channel)) {
    (void)SendWhole(connection.connection.get(), NetHandshake::Refusal());
    return Outcome::kClosed;
  }
  if (!SendWhole(connection.connection.get(),
                 handshake_.Acceptance(connection.received, connection.challenge))) {
    return Outcome::kClosed;
  }
  Keep(*channel, std::move(connection.connection),
       handshake_.AcceptorKeys(connection.received, connection.challenge));
  return Outcome::kTaken;
}

bool NetHandshakeLoop::Fits(const NetChannel& channel) const {
  const bool known = channel.ranks == ranks_ && channel.connector > table_.rank &&
                     channel.connector < ranks_ && channel.streams >= 1 &&
                     channel.streams <= static_cast<int>(SwitchPoints::kMostStreams);
  return known &&
         (channel.number <= channel.streams || (channel.number == kLink && table_.rank == 0));
}

int NetHandshakeLoop::OtherOf(const NetChannel& channel) const {
  return channel.connector == table_.rank ? channel.acceptor : channel.connector;
}

bool NetHandshakeLoop::IsFree(const NetChannel& channel) const {
  const auto rank = static_cast<size_t>(OtherOf(channel));
  const NetPeer& peer = found_.peers[rank];
  if (channel.number == kLink) return !linked_[rank];
  // All connections of one rank must name the same number of streams.
  if (!peer.streams.empty() && peer.streams.size() != channel.streams) return false;
  if (channel.number == kWords) return peer.words.socket.get() < 0;
  return peer.streams.empty() || peer.streams[channel.number - 1].socket.get() < 0;
}

void NetHandshakeLoop::Keep(const NetChannel& channel, Descriptor connection,
                            const ConnectionKeys& keys) {
  const int rank = OtherOf(channel);
  NetPeer& peer = found_.peers[static_cast<size_t>(rank)];
  if (channel.number == kLink) {
    linked_[static_cast<size_t>(rank)] = true;
    found_.links.push_back({.rank = rank, .connection = std::move(connection), .keys = keys});
    return;
  }
  peer.streams.resize(channel.streams);
  if (channel.number == kWords) {
    peer.words = {.socket = std::move(connection), .keys = keys};
    return;
  }
  NetConnection& stream = peer.streams[channel.number - 1];
  stream.socket = std::move(connection);
  // Words and links always carry a MAC. Data does so on request only, because of the cost.
  if (table_.wire_mac) stream.keys = keys;
}

bool NetHandshakeLoop::IsComplete(int rank) const {
  const NetPeer& peer = found_.peers[static_cast<size_t>(rank)];
  const bool needs_link = rank == 0 || table_.rank == 0;
  return rank == table_.rank ||
         (peer.words.socket.get() >= 0 && !peer.streams.empty() &&
          std::all_of(peer.streams.begin(), peer.streams.end(),
                      [](const NetConnection& stream) { return stream.socket.get() >= 0; }) &&
          (!needs_link || linked_[static_cast<size_t>(rank)]));
}

bool NetHandshakeLoop::AllAreHere() const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!IsComplete(rank)) return false;
  }
  return true;
}

Status NetHandshakeLoop::Missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!IsComplete(rank)) missing.push_back(rank);
  }
  std::string text =
      Name(missing[0]) + (missing[0] < table_.rank ? " does not answer" : " has not connected");
  if (missing.size() > 1) text += ", and " + std::to_string(missing.size() - 1) + " more";
  return {Code::kDeadlineExceeded, text};
}

}  // namespace tony::collective
