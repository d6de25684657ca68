// Plain sockets with a time-out.
#include "tests/feed/feed_peer.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace tony::feed {

FeedPeer::FeedPeer(const std::string& path)
    : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    socket_.Reset();
  }
}

bool FeedPeer::SendBytes(const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(socket_.get(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += static_cast<size_t>(sent);
  }
  return true;
}

bool FeedPeer::Send(FrameType type, uint64_t argument, const std::string& payload,
                    uint8_t encoding) {
  return SendBytes(
      FormatFrame({.type = type, .encoding = encoding, .argument = argument}, payload));
}

bool FeedPeer::Receive(char* data, size_t size) {
  while (size > 0) {
    iovec part{data, size};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t received = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    if (received <= 0) return false;
    if (const cmsghdr* const header = CMSG_FIRSTHDR(&message); header != nullptr) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
      fd_.Reset(fd);
    }
    data += received;
    size -= static_cast<size_t>(received);
  }
  return true;
}

Received FeedPeer::Next() {
  Received frame;
  frame.header.type = FrameType{0};
  char bytes[kHeaderBytes];
  if (!Receive(bytes, sizeof(bytes))) return frame;
  std::memcpy(&frame.header.length, bytes, 4);
  frame.payload.resize(frame.header.length);
  if (!Receive(frame.payload.data(), frame.payload.size())) return frame;
  frame.header.type = static_cast<FrameType>(bytes[4]);
  frame.header.encoding = static_cast<uint8_t>(bytes[5]);
  frame.header.argument = ReadLittleEndian64(bytes + 8);
  return frame;
}

Received FeedPeer::NextButAlive() {
  Received frame = Next();
  while (frame.header.type == FrameType::kAlive) frame = Next();
  return frame;
}

Received FeedPeer::NextButCredit() {
  while (true) {
    Received frame = Next();
    if (frame.header.type == FrameType::kCredit) {
      credits += frame.header.argument;
    } else if (frame.header.type != FrameType::kAlive) {
      return frame;
    }
  }
}

bool SayHello(FeedPeer& peer, int partition, const std::string& more, const std::string& token,
              const std::string& feed) {
  return peer.Send(FrameType::kHello, kVersion,
                   absl::StrCat("{\"token\":\"", token, "\",\"feed\":\"", feed,
                                "\",\"epoch\":0,\"partition\":", partition, more, "}"));
}

}  // namespace tony::feed
