// The descriptor is shared with tony-submit, which keeps it for the next ApplicationMaster. So it
// stays in its mode, and each call says that it must not block.
#include "backend/launcher/packet_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backend/launcher/launcher_messages.h"

namespace tony::backend {
namespace {

/// Packets read in one turn of the loop, so that a chatty launcher does not starve the job.
constexpr int kPacketsOfTurn = 32;

}  // namespace

absl::Status PacketSocket::Check(int fd) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "descriptor ", fd, " is not one of a pair of Unix sockets of the type SOCK_SEQPACKET"));
}

PacketSocket::PacketSocket(EventLoop& loop, os::UniqueFd socket, Events events)
    : loop_(loop),
      socket_(std::move(socket)),
      writer_(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0)),
      events_(std::move(events)) {
  readable_ = loop_.WatchReadable(socket_.get(), [this] { OnReadable(); });
}

void PacketSocket::Send(std::string packet) {
  if (lost_) return;
  if (packet.size() > kMostPacketBytes) {
    return Lose(absl::StrCat("an order for the launcher has ", packet.size(), " bytes, and ",
                             kMostPacketBytes, " are the most"));
  }
  if (queue_.size() >= kMostQueued) return Lose("the launcher does not read its orders");
  queue_.push_back(std::move(packet));
  if (writable_ == nullptr) Flush();
}

void PacketSocket::Flush() {
  while (!queue_.empty()) {
    const std::string& packet = queue_.front();
    const ssize_t sent =
        ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
      if (writable_ == nullptr) {
        writable_ = loop_.WatchWritable(writer_.get(), [this] { Flush(); });
      }
      return;
    }
    // The reader sees the end of the socket, too, after what the launcher has sent before.
    if (sent < 0) queue_.clear();
    if (!queue_.empty()) queue_.pop_front();
  }
  writable_.reset();
}

void PacketSocket::OnReadable() {
  std::vector<char> bytes(kMostPacketBytes + 1);
  for (int i = 0; i < kPacketsOfTurn && !lost_; ++i) {
    const ssize_t size = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    // The launcher has ended with orders that it had not read. What it has sent comes after this.
    if (size < 0 && errno == ECONNRESET) continue;
    if (size == 0) return Lose("the launcher has closed its end of the socket");
    if (size < 0) return Lose(absl::StrCat("the launcher's socket: ", std::strerror(errno)));
    if (static_cast<size_t>(size) > kMostPacketBytes) {
      return Lose("the launcher has sent a packet that is too long");
    }
    events_.on_packet(std::string(bytes.data(), static_cast<size_t>(size)));
  }
}

void PacketSocket::Lose(const std::string& why) {
  if (std::exchange(lost_, true)) return;
  readable_.reset();
  writable_.reset();
  queue_.clear();
  losing_ = loop_.After(Duration::zero(), [this, why] { events_.on_lost(why); });
}

}  // namespace tony::backend
