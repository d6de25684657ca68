// Each turn of the loop reads a bounded amount, so that one fast producer does not keep the others,
// or the program's releases, from their turn.
#include "feed/frame_connection.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tony::feed {
namespace {

/// Most bytes that one connection receives in one turn.
constexpr size_t kTurnBytes = size_t{1} << 20;

/// Sends bytes with a descriptor on a Unix socket.
IoResult SendWithFd(int socket, const std::string& bytes, int fd) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  const ssize_t sent = ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent > 0) return {IoResult::State::kMoved, static_cast<size_t>(sent)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
    return {IoResult::State::kWantsWrite};
  }
  return {IoResult::State::kBroken};
}

}  // namespace

FrameConnection::FrameConnection(EventLoop& loop, const Clock& clock,
                                 std::unique_ptr<ByteStream> stream, Peer peer,
                                 const Limits& limits, Callbacks callbacks)
    : loop_(loop),
      clock_(clock),
      stream_(std::move(stream)),
      limits_(limits),
      callbacks_(std::move(callbacks)),
      intake_(peer, limits.slot_bytes, callbacks_.frames),
      received_at_(clock.Now()),
      sent_at_(received_at_),
      moved_at_(sent_at_) {}

void FrameConnection::Resume() {
  if (lost_ || (ended_ && !finishing_) || reading_ != nullptr) return;
  reading_ = loop_.WatchReadable(stream_->fd(), [this] { OnReadable(); });
  // Bytes that TLS has decrypted already make no descriptor readable.
  if (stream_->buffered()) loop_.Post(lifetime_.Guard([this] { OnReadable(); }));
}

void FrameConnection::OnReadable() {
  if (std::exchange(write_wants_read_, false)) Flush();
  if (finishing_) return Discard();
  for (size_t turn = 0; turn < kTurnBytes && reading_ != nullptr && !finishing_;) {
    const FrameIntake::Room room = intake_.Next();
    const IoResult result = stream_->Read(room.data, room.size);
    switch (result.state) {
      case IoResult::State::kMoved: {
        turn += result.bytes;
        received_at_ = clock_.Now();
        const absl::Status taken = intake_.Took(result.bytes);
        if (!taken.ok()) return End(taken);
        break;
      }
      case IoResult::State::kWantsRead:
        return;
      case IoResult::State::kWantsWrite:
        read_wants_write_ = true;
        return AwaitWritable();
      case IoResult::State::kEnd:
        return End(intake_.between_frames()
                       ? absl::OkStatus()
                       : absl::DataLossError("the connection ended within a frame"));
      case IoResult::State::kBroken:
        return Lose(absl::UnavailableError("the connection is lost"));
    }
  }
  if (reading_ != nullptr && stream_->buffered()) {
    loop_.Post(lifetime_.Guard([this] { OnReadable(); }));
  }
}

void FrameConnection::Discard() {
  char scrap[16 * 1024];
  for (size_t turn = 0; turn < kTurnBytes && reading_ != nullptr;) {
    const IoResult result = stream_->Read(scrap, sizeof(scrap));
    if (result.state == IoResult::State::kWantsRead) return;
    if (result.state == IoResult::State::kWantsWrite) return AwaitWritable();
    if (result.state != IoResult::State::kMoved) {
      return Lose(absl::UnavailableError("the connection is over"));
    }
    turn += result.bytes;
  }
}

void FrameConnection::AwaitWritable() {
  if (writing_ != nullptr) return;
  if (!write_watch_.valid()) write_watch_.Reset(::fcntl(stream_->fd(), F_DUPFD_CLOEXEC, 0));
  if (!write_watch_.valid()) {
    return Lose(absl::UnavailableError("no descriptor is left (ulimit -n)"));
  }
  writing_ = loop_.WatchWritable(write_watch_.get(), [this] { OnWritable(); });
}

void FrameConnection::OnWritable() {
  writing_.reset();
  if (std::exchange(read_wants_write_, false) && reading_ != nullptr) OnReadable();
  Flush();
}

void FrameConnection::Send(FrameType type, uint64_t argument, std::string_view payload,
                           uint8_t encoding, int fd) {
  if (finishing_ || lost_) return;
  sent_at_ = clock_.Now();
  if (queue_.empty()) moved_at_ = sent_at_;
  Queued queued{FormatFrame({.type = type, .encoding = encoding, .argument = argument}, payload),
                os::UniqueFd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0))};
  if (fd >= 0 && !queued.fd.valid()) {
    return Lose(absl::ResourceExhaustedError("no descriptor is left (ulimit -n)"));
  }
  queued_ += queued.bytes.size();
  queue_.push_back(std::move(queued));
  if (queue_.size() == 1) Flush();
  if (queued_ > limits_.most_queued) {
    Lose(absl::ResourceExhaustedError("the peer does not read what is sent to it"));
  }
}

IoResult FrameConnection::WriteOne(const Queued& first) {
  if (first.fd.valid() && sent_ == 0) {
    return SendWithFd(stream_->fd(), first.bytes, first.fd.get());
  }
  return stream_->Write(first.bytes.data() + sent_, first.bytes.size() - sent_);
}

void FrameConnection::Flush() {
  const size_t before = queued_;
  if (lost_) return;
  while (!queue_.empty()) {
    const Queued& first = queue_.front();
    const IoResult result = WriteOne(first);
    if (result.state == IoResult::State::kMoved) {
      sent_ += result.bytes;
      queued_ -= result.bytes;
      moved_at_ = clock_.Now();
      if (sent_ < first.bytes.size()) continue;
      sent_ = 0;
      queue_.pop_front();
    } else if (result.state == IoResult::State::kWantsWrite) {
      AwaitWritable();
      break;
    } else if (result.state == IoResult::State::kWantsRead) {
      write_wants_read_ = true;  // only during a handshake, in which the connection is read
      break;
    } else {
      return Lose(absl::UnavailableError("the connection is lost"));
    }
  }
  if (queue_.empty() && finishing_ && !std::exchange(write_ended_, true)) stream_->EndWriting();
  if (before >= limits_.drained && queued_ < limits_.drained && callbacks_.on_drained) {
    loop_.Post(lifetime_.Guard([this] { callbacks_.on_drained(); }));
  }
}

void FrameConnection::Finish() {
  if (std::exchange(finishing_, true)) return;
  finished_at_ = clock_.Now();
  ended_ = true;
  Resume();
  Flush();
}

void FrameConnection::Lose(const absl::Status& why) {
  lost_ = true;
  queue_.clear();
  queued_ = 0;
  writing_.reset();
  End(why);
}

void FrameConnection::End(const absl::Status& why) {
  reading_.reset();
  if (std::exchange(ended_, true)) return;
  loop_.Post(lifetime_.Guard([this, why] { callbacks_.on_end(why); }));
}

}  // namespace tony::feed
