// recv(2) and send(2); a signal in between is no event.
#include "feed/plain_stream.h"

#include <sys/socket.h>

#include <cerrno>

namespace tony::feed {
namespace {

IoResult ResultOf(ssize_t moved, IoResult::State waiting) {
  if (moved > 0) return {IoResult::State::kMoved, static_cast<size_t>(moved)};
  if (moved == 0) return {IoResult::State::kEnd};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {waiting};
  return {IoResult::State::kBroken};
}

}  // namespace

IoResult PlainStream::Read(char* data, size_t size) {
  ssize_t moved = 0;
  do {
    moved = ::recv(socket_.get(), data, size, MSG_DONTWAIT);
  } while (moved < 0 && errno == EINTR);
  return ResultOf(moved, IoResult::State::kWantsRead);
}

IoResult PlainStream::Write(const char* data, size_t size) {
  ssize_t moved = 0;
  do {
    moved = ::send(socket_.get(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (moved < 0 && errno == EINTR);
  return ResultOf(moved, IoResult::State::kWantsWrite);
}

void PlainStream::EndWriting() { (void)::shutdown(socket_.get(), SHUT_WR); }

}  // namespace tony::feed
