// One connection of a feed: frames in both directions on the event loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/byte_stream.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "feed/frame.h"
#include "feed/frame_intake.h"
#include "os/files/unique_fd.h"

namespace tony::feed {

/// Reads as fast as the frames' places allow, unless it is paused, and writes what is queued. Must
/// not be destroyed from within one of its callbacks. Not thread safe: owned by the event loop,
/// which outlives it.
class FrameConnection {
 public:
  struct Callbacks {
    FrameIntake::Callbacks frames;
    /// Called once. OK – the peer has ended the connection between two frames. DataLoss – within a
    /// frame. Unavailable – the connection is lost. ResourceExhausted – the peer does not read what
    /// is sent. Other codes: the error of a frame. Nothing more is received after it; what is
    /// queued is still sent unless the connection is lost.
    std::function<void(const absl::Status& why)> on_end;
    /// Less than `drained` bytes are queued now, and it was more.
    std::function<void()> on_drained;
  };
  struct Limits {
    uint32_t slot_bytes = 0;
    size_t most_queued = 0;  ///< bytes; more ends the connection
    size_t drained = 0;      ///< bytes; see Callbacks::on_drained
  };

  FrameConnection(EventLoop& loop, const Clock& clock, std::unique_ptr<ByteStream> stream,
                  Peer peer, const Limits& limits, Callbacks callbacks);
  FrameConnection(const FrameConnection&) = delete;
  FrameConnection& operator=(const FrameConnection&) = delete;

  /// Begins to read.
  void Start() { Resume(); }
  void Pause() { reading_.reset(); }
  void Resume();
  /// Queues a frame. With `fd`, a copy of that descriptor goes with it; the stream is then that of
  /// a Unix socket. Dropped after Finish() and after the connection is lost.
  void Send(FrameType type, uint64_t argument, std::string_view payload = {}, uint8_t encoding = 0,
            int fd = -1);
  /// Sends what is queued, and takes in no further frame: what comes is read and dropped, since a
  /// socket that is closed with unread bytes may take the last frames from its peer.
  void Finish();
  /// After Finish(): the peer has gone, so nothing keeps the connection any more.
  bool finished() const { return finishing_ && lost_; }
  /// Time of Finish().
  TimePoint finished_at() const { return finished_at_; }
  bool finishing() const { return finishing_; }
  size_t queued() const { return queued_; }
  /// Time at which the peer has last sent bytes, or of the construction.
  TimePoint received_at() const { return received_at_; }
  /// Time of the newest Send(), or of the construction.
  TimePoint sent_at() const { return sent_at_; }
  /// Time at which the peer has last taken bytes, or at which the first of the queued ones came.
  TimePoint moved_at() const { return moved_at_; }

 private:
  struct Queued {
    std::string bytes;
    os::UniqueFd fd;
  };

  void OnReadable();
  void Discard();
  void OnWritable();
  void AwaitWritable();
  void Flush();
  IoResult WriteOne(const Queued& first);
  /// Calls on_end from the loop, once.
  void End(const absl::Status& why);
  void Lose(const absl::Status& why);

  EventLoop& loop_;
  const Clock& clock_;
  const std::unique_ptr<ByteStream> stream_;
  const Limits limits_;
  const Callbacks callbacks_;
  FrameIntake intake_;
  std::deque<Queued> queue_;
  size_t sent_ = 0;  ///< bytes of the first queued frame
  size_t queued_ = 0;
  TimePoint received_at_;
  TimePoint sent_at_;
  TimePoint moved_at_;
  bool read_wants_write_ = false;  ///< TLS has to write before it can go on reading
  bool write_wants_read_ = false;
  bool ended_ = false;
  bool write_ended_ = false;
  bool lost_ = false;
  bool finishing_ = false;
  TimePoint finished_at_;
  os::UniqueFd write_watch_;  ///< a copy of the descriptor: the loop watches each one once
  std::unique_ptr<EventLoop::Handle> reading_;
  std::unique_ptr<EventLoop::Handle> writing_;
  Lifetime lifetime_;
};

}  // namespace tony::feed
