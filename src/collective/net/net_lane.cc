// Plain lanes use send(2) and recv(2). Lanes with MACs move a unit and its tag by one sendmsg(2) or
// recvmsg(2), so the MAC costs no additional system call.
#include "collective/net/net_lane.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tony::collective {
namespace {

/// The rest of a unit and of its MAC, for one system call. The message points into the object, so
/// it cannot be copied.
struct Pair {
  Pair(std::byte* at, size_t left, MacTag& tag, size_t tag_left)
      : parts{{{.iov_base = at, .iov_len = left},
               {.iov_base = tag.data() + (tag.size() - tag_left), .iov_len = tag_left}}} {
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  std::array<iovec, 2> parts;
  msghdr message{};
};

}  // namespace

void NetLane::Forget() {
  units_.clear();
  next_ = 0;
}

void NetLane::Finish() {
  ++done_;
  if (++next_ < units_.size()) return;
  units_.clear();
  next_ = 0;
}

bool NetLane::Moved(ssize_t size, bool sending) {
  if (size < 0 && errno == EINTR) return true;
  if (size < 0 || (size == 0 && !sending)) {
    ready = false;
    closed_ = size == 0 || errno != EAGAIN;
    return false;
  }
  // The call moves the unit's bytes first, then those of its MAC.
  Unit& unit = units_[next_];
  const size_t data = std::min(static_cast<size_t>(size), unit.left);
  unit.at += data;
  unit.left -= data;
  tag_left_ -= static_cast<size_t>(size) - data;
  return true;
}

bool NetLane::Send(int socket) {
  if (mac_) return SendWithMac(socket);
  const Unit& unit = units_[next_];
  if (!Moved(send(socket, unit.at, unit.left, MSG_NOSIGNAL), true)) return false;
  if (unit.left == 0) Finish();
  return true;
}

bool NetLane::Receive(int socket) {
  if (mac_) return ReceiveWithMac(socket);
  const Unit& unit = units_[next_];
  if (!Moved(recv(socket, unit.at, unit.left, 0), false)) return false;
  if (unit.left == 0) Finish();
  return true;
}

bool NetLane::SendWithMac(int socket) {
  const Unit& unit = units_[next_];
  if (tag_left_ == 0) {
    tag_ = mac_->Next(unit.at, unit.size);
    tag_left_ = tag_.size();
  }
  const Pair pair(unit.at, unit.left, tag_, tag_left_);
  if (!Moved(sendmsg(socket, &pair.message, MSG_NOSIGNAL), true)) return false;
  if (unit.left + tag_left_ == 0) Finish();
  return true;
}

bool NetLane::ReceiveWithMac(int socket) {
  if (changed_) return false;
  const Unit& unit = units_[next_];
  if (tag_left_ == 0) tag_left_ = tag_.size();
  Pair pair(unit.at, unit.left, tag_, tag_left_);
  if (!Moved(recvmsg(socket, &pair.message, 0), false)) return false;
  if (unit.left + tag_left_ > 0) return true;
  // The check follows at once, while the unit is still in a cache.
  changed_ = !mac_->Check(unit.at - unit.size, unit.size, tag_.data());
  if (!changed_) Finish();
  return !changed_;
}

}  // namespace tony::collective
