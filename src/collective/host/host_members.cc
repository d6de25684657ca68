// A Unix socket does three things here: SO_PEERCRED tells the user at the other end, SCM_RIGHTS
// hands over the memory, and an end of file tells that a process is gone.
#include "collective/host/host_members.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "collective/base/random_name.h"

namespace tony::collective {
namespace {

constexpr uint32_t kGreeting = 0x746f6e02;  // "ton", form 2
constexpr auto kStrangersTime = std::chrono::seconds(2);
constexpr int kBacklog = 1024;
/// How long a rank waits beyond its deadline, so that rank 0 can still tell it who is missing.
constexpr auto kLastWordsTime = std::chrono::seconds(2);
constexpr size_t kMostWords = 4096;
/// The most patience that is believed of a rank: a year, so that no sum overflows.
constexpr int64_t kMostMs = int64_t{365} * 24 * 3600 * 1000;

/// The message by which a rank enters. Both sides run on the same machine with the same library, so
/// the struct is sent as it is.
struct Entrance {
  uint32_t greeting;
  int32_t rank;
  int32_t ranks;
  uint32_t secret_bytes;
  int64_t patience_ms;  ///< how long it waits for all others, in ms
  std::array<char, HostAcceptor::kSecretBytes> secret;
};

int64_t MillisecondsUntil(Deadline deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::max<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 0);
}

bool IsLack(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

Status Failed(const std::string& what) {
  const int error = errno;
  return {IsLack(error) ? Code::kResourceExhausted : Code::kInternal,
          what + ": " + std::strerror(error)};
}

sockaddr_un AddressOf(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // The leading zero byte makes it abstract: it has no file.
  std::memcpy(&address.sun_path[1], name.data(),
              std::min(name.size(), sizeof(address.sun_path) - 1));
  return address;
}

socklen_t LengthOf(const std::string& name) {
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

/// Connects to the listener with this address. Returns 0, or the error's number; EAGAIN: the
/// backlog was full for as long as SO_SNDTIMEO says.
int Connect(int connection, const std::string& address) {
  const sockaddr_un name = AddressOf(address);
  for (;;) {
    if (connect(connection, reinterpret_cast<const sockaddr*>(&name), LengthOf(address)) == 0) {
      return 0;
    }
    // A program's signal says nothing about rank 0. A Unix socket is not half connected after it.
    if (errno != EINTR) return errno;
  }
}

bool IsOwnUser(int connection) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == geteuid();
}

/// Waits until one of the descriptors has input or its other side is gone, and returns its index.
/// -1: the deadline has passed.
int WaitForAny(std::vector<pollfd>& descriptors, Deadline deadline) {
  for (;;) {
    const int64_t left = MillisecondsUntil(deadline);
    const int ready = poll(descriptors.data(), static_cast<nfds_t>(descriptors.size()),
                           static_cast<int>(std::min<int64_t>(left, 60000)));
    if (ready == 0 && left <= 60000) return -1;
    if (ready <= 0) continue;
    const auto found = std::find_if(descriptors.begin(), descriptors.end(),
                                    [](const pollfd& one) { return one.revents != 0; });
    return static_cast<int>(found - descriptors.begin());
  }
}

/// Waits for one descriptor. True: it has input, or its other side is gone. False: the deadline has
/// passed.
bool WaitForInput(int descriptor, Deadline deadline) {
  std::vector<pollfd> one = {{.fd = descriptor, .events = POLLIN, .revents = 0}};
  return WaitForAny(one, deadline) == 0;
}

/// Receives exactly `bytes` bytes. False: they did not come, or not in time.
bool ReceiveAll(int connection, void* data, size_t bytes, Deadline deadline) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    if (!WaitForInput(connection, deadline)) return false;
    const ssize_t size = recv(connection, at, bytes, MSG_DONTWAIT);
    if (size <= 0) return false;
    at += size;
    bytes -= static_cast<size_t>(size);
  }
  return true;
}

/// Receives what a guest sends to enter. Empty: another user's process, or it has sent nothing in
/// time.
std::optional<Entrance> ReceiveEntrance(int guest, Deadline deadline) {
  Entrance entrance{};
  if (!IsOwnUser(guest)) return std::nullopt;
  if (!ReceiveAll(guest, &entrance, sizeof(entrance), deadline)) return std::nullopt;
  return entrance;
}

/// Compares in constant time: the duration depends on `secret` alone.
bool IsSecret(const Entrance& entrance, const std::string& secret) {
  if (entrance.secret_bytes != secret.size()) return false;
  int different = 0;
  for (size_t i = 0; i < secret.size(); ++i) different |= entrance.secret[i] ^ secret[i];
  return different == 0;
}

/// The first byte of rank 0's answer.
constexpr char kAllHere = 1;  ///< the descriptor of the shared memory comes with it
constexpr char kRefused = 0;  ///< the reason follows: a code and a sentence

/// A message of one byte with room for a descriptor. It points into the object, so it cannot be
/// copied.
struct DescriptorMessage {
  char byte = kAllHere;
  iovec data = {.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};

  DescriptorMessage() {
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
  }
  DescriptorMessage(const DescriptorMessage&) = delete;
  DescriptorMessage& operator=(const DescriptorMessage&) = delete;
};

bool SendDescriptor(int connection, int descriptor) {
  DescriptorMessage sent;
  cmsghdr* header = CMSG_FIRSTHDR(&sent.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return sendmsg(connection, &sent.message, MSG_NOSIGNAL) == 1;
}

/// Tells a rank why it does not get the memory.
void SendReason(int connection, const Status& reason) {
  std::string words = {kRefused, static_cast<char>(reason.code())};
  words += reason.message().substr(0, kMostWords - words.size());
  // A failed send does not matter: the rank is not there any more.
  (void)send(connection, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Receives rank 0's answer: the memory's descriptor, or the reason why there is none. An empty
/// Descriptor: rank 0 has gone without a word.
Result<Descriptor> ReceiveAnswer(int connection) {
  DescriptorMessage received;
  if (recvmsg(connection, &received.message, MSG_CMSG_CLOEXEC) != 1) return Descriptor();
  if (received.byte == kRefused) {
    std::array<char, kMostWords> words{};
    const ssize_t size = recv(connection, words.data(), words.size(), MSG_DONTWAIT);
    if (size < 1) return Descriptor();
    return Status(static_cast<Code>(words[0]),
                  std::string(&words[1], static_cast<size_t>(size) - 1));
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&received.message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return Descriptor();
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return Descriptor(descriptor);
}

/// Rank 0's record of the ranks that have entered.
struct Guests {
  std::vector<LinkLoop::Peer> peers;
  std::vector<bool> here;  ///< by rank: it has entered
  Deadline deadline;       ///< of the least patient rank

  Status Missing() const {
    const auto missing = std::find(here.begin(), here.end(), false) - here.begin();
    const size_t others = here.size() - 2 - peers.size();
    return {Code::kDeadlineExceeded,
            "rank " + std::to_string(missing) + " of this host has not come" +
                (others > 0 ? ", and " + std::to_string(others) + " more" : "")};
  }
  /// Whether the guest is a rank of this group that has not entered yet.
  bool Expects(const Entrance& entrance, const std::string& secret) const {
    const auto ranks = static_cast<int32_t>(here.size());
    return entrance.greeting == kGreeting && IsSecret(entrance, secret) &&
           entrance.ranks == ranks && entrance.rank > 0 && entrance.rank < ranks &&
           !here[static_cast<size_t>(entrance.rank)];
  }
  /// Records that a rank has entered.
  void Add(const Entrance& entrance, Descriptor connection) {
    here[static_cast<size_t>(entrance.rank)] = true;
    // A rank that waits less long than rank 0 shortens the wait for all: without it the group
    // cannot be complete, so all hear of it at once.
    const auto theirs =
        std::chrono::milliseconds(std::clamp<int64_t>(entrance.patience_ms, 0, kMostMs));
    deadline = std::min(deadline, After(theirs));
    peers.push_back({entrance.rank, std::move(connection)});
  }
  /// Waits for the next event. -1: a guest is at the listener. From 0 on: the index in `peers` of a
  /// rank that has ended; input means its end, since no rank sends anything yet. DeadlineExceeded.
  Result<int> Wait(int listener) const {
    std::vector<pollfd> all = {{.fd = listener, .events = POLLIN, .revents = 0}};
    for (const LinkLoop::Peer& peer : peers) {
      all.push_back({.fd = peer.connection.get(), .events = POLLIN, .revents = 0});
    }
    const int found = WaitForAny(all, deadline);
    if (found < 0) return Missing();
    return found - 1;
  }
  /// Sends the memory to all. Aborted: a rank has ended; the ranks that have not got the memory yet
  /// are told.
  Status HandOver(int memory) const {
    for (size_t i = 0; i < peers.size(); ++i) {
      if (!SendDescriptor(peers[i].connection.get(), memory)) {
        return Refuse(Ended(peers[i].rank), i + 1);
      }
    }
    return {};
  }
  static Status Ended(int rank) {
    return {Code::kAborted,
            "rank " + std::to_string(rank) + " of this host has ended before all were there"};
  }
  /// Sends `reason` to all peers but the first `begin`, and returns it.
  Status Refuse(Status reason, size_t begin = 0) const {
    for (size_t i = begin; i < peers.size(); ++i) SendReason(peers[i].connection.get(), reason);
    return reason;
  }
};

}  // namespace

Result<std::unique_ptr<HostAcceptor>> HostAcceptor::Open() {
  auto random = RandomName();
  if (!random.ok()) return random.status();
  std::string address = "tony-collective-" + *random;
  Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) return Failed("cannot make a socket");
  const sockaddr_un name = AddressOf(address);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&name), LengthOf(address)) != 0 ||
      listen(listener.get(), kBacklog) != 0) {
    return Failed("cannot listen for this host's ranks");
  }
  return std::unique_ptr<HostAcceptor>(new HostAcceptor(std::move(listener), std::move(address)));
}

Result<HostAcceptor::Meeting> HostAcceptor::Gather(std::shared_ptr<SharedMemory> memory, int ranks,
                                                   const std::string& secret, Deadline deadline) {
  Guests guests = {
      .peers = {}, .here = std::vector<bool>(static_cast<size_t>(ranks)), .deadline = deadline};
  guests.here[0] = true;
  while (guests.peers.size() + 1 < guests.here.size()) {
    Result<int> ended = guests.Wait(listener_.get());
    if (!ended.ok()) return guests.Refuse(ended.status());
    if (*ended >= 0) {
      return guests.Refuse(Guests::Ended(guests.peers[static_cast<size_t>(*ended)].rank));
    }
    // Guests are served one at a time. A stranger delays the ranks by kStrangersTime at most, and
    // only processes of the same user get as far as that.
    Descriptor guest(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    // The guest stays at the listener, so without this end the loop would spin until memory is
    // there.
    if (guest.get() < 0 && IsLack(errno)) return guests.Refuse(Failed("cannot accept"));
    if (guest.get() < 0) continue;
    const Deadline patience = std::min(guests.deadline, After(kStrangersTime));
    const std::optional<Entrance> entrance = ReceiveEntrance(guest.get(), patience);
    if (!entrance) continue;
    if (!guests.Expects(*entrance, secret)) {
      SendReason(
          guest.get(),
          {Code::kFailedPrecondition,
           "rank 0 of this host refuses rank " + std::to_string(entrance->rank) + " of " +
               std::to_string(entrance->ranks) + ": another job's, or one that is there already"});
      continue;
    }
    guests.Add(*entrance, std::move(guest));
  }
  if (Status done = guests.HandOver(memory->descriptor()); !done.ok()) return done;
  return Meeting{.memory = std::move(memory), .peers = std::move(guests.peers)};
}

Result<HostAcceptor::Meeting> HostAcceptor::Join(const std::string& address, int rank, int ranks,
                                                 const std::string& secret, Deadline deadline) {
  Entrance entrance = {.greeting = kGreeting,
                       .rank = rank,
                       .ranks = ranks,
                       .secret_bytes = static_cast<uint32_t>(secret.size()),
                       .patience_ms = MillisecondsUntil(deadline),
                       .secret = {}};
  if (secret.size() > kSecretBytes || address.size() >= sizeof(sockaddr_un::sun_path)) {
    return Status(Code::kInvalidArgument, "the secret or the address is too long");
  }
  std::copy(secret.begin(), secret.end(), entrance.secret.begin());
  Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connection.get() < 0) return Failed("cannot make a socket");
  // SO_SNDTIMEO also limits connect(), which blocks while the backlog is full.
  const auto left = std::chrono::ceil<std::chrono::microseconds>(
      std::max(deadline - std::chrono::steady_clock::now(), Deadline::duration(1)));
  const timeval patience = {.tv_sec = left.count() / 1000000, .tv_usec = left.count() % 1000000};
  setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (const int error = Connect(connection.get(), address); error == EAGAIN) {
    return Status(Code::kDeadlineExceeded,
                  "rank 0 of this host lets nobody in: too many are at its listener");
  } else if (error != 0) {
    // Rank 0 has published the address, so it was there and has ended.
    return Status(Code::kAborted,
                  std::string("rank 0 of this host is not there: ") + std::strerror(error));
  }
  if (!IsOwnUser(connection.get())) {
    return Status(Code::kFailedPrecondition, "another user's program listens at rank 0's address");
  }
  if (send(connection.get(), &entrance, sizeof(entrance), MSG_NOSIGNAL) != sizeof(entrance)) {
    return Failed("cannot speak with rank 0 of this host");
  }
  if (!WaitForInput(connection.get(), deadline + kLastWordsTime)) {
    return Status(Code::kDeadlineExceeded, "rank 0 of this host does not answer");
  }
  auto handed = ReceiveAnswer(connection.get());
  if (!handed.ok()) return handed.status();
  if (handed->get() < 0) {
    return Status(Code::kAborted, "rank 0 of this host has ended before all were there");
  }
  auto memory = SharedMemory::Map(handed->Release(), HostMemory::BytesFor(ranks),
                                  HostMemory::ArenasBytesFor(ranks));
  if (!memory.ok()) return memory.status();
  std::vector<LinkLoop::Peer> peers;
  peers.push_back({0, std::move(connection)});
  return Meeting{.memory = std::move(*memory), .peers = std::move(peers)};
}

Result<std::unique_ptr<LinkMembers>> HostAcceptor::Admit(int ranks, const std::string& secret,
                                                         Deadline deadline) {
  auto memory = HostGroup::CreateMemory(ranks);
  if (!memory.ok()) return memory.status();
  return WithGroup(Gather(std::move(*memory), ranks, secret, deadline), 0, ranks);
}

Result<std::unique_ptr<LinkMembers>> HostAcceptor::Enter(const std::string& address, int rank,
                                                         int ranks, const std::string& secret,
                                                         Deadline deadline) {
  return WithGroup(Join(address, rank, ranks, secret, deadline), rank, ranks);
}

Result<std::unique_ptr<LinkMembers>> HostAcceptor::WithGroup(Result<Meeting> meeting, int rank,
                                                             int ranks) {
  if (!meeting.ok()) return meeting.status();
  auto group = HostGroup::Join(std::move(meeting->memory), rank, ranks);
  if (!group.ok()) return group.status();
  return LinkMembers::Start(std::move(*group), "shared memory", std::move(meeting->peers));
}

}  // namespace tony::collective
