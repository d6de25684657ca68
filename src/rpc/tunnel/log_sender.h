// Sends the logs in a container's folder through tunnels, as they grow.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "logs/log_feed.h"
#include "rpc/tunnel/tunnel_end.h"

namespace tony::rpc {

/// One piece at a time: the next is read when the one before is on its way, so that a slow reader
/// holds up nothing but itself. Woken by the kernel when files grow. Not thread safe: owned by the
/// event loop.
class LogSender {
 public:
  /// For so long a reader may take nothing, or stay when it has all; then it may have gone without
  /// a word.
  static constexpr std::chrono::minutes kLongestStall{15};

  using Dial = std::function<std::unique_ptr<TunnelEnd>(TunnelEnd::Callbacks)>;
  /// OK: all was sent. Codes of the Tunnel call; DeadlineExceeded – nothing is taken, or the reader
  /// does not go. May destroy the sender.
  using OnDone = std::function<void(const absl::Status&)>;

  /// `follow`: goes on until Finish().
  LogSender(EventLoop& loop, std::unique_ptr<logs::LogFeed> feed, bool follow, const Dial& dial,
            OnDone on_done, Duration longest_stall = kLongestStall);
  ~LogSender();
  LogSender(const LogSender&) = delete;
  LogSender& operator=(const LogSender&) = delete;

  /// Nothing more will be written: what is there is sent, and that it was all.
  void Finish();

 private:
  void OnWritten();
  void OnFrame(v1::TunnelFrame frame);
  void OnClosed(absl::Status status);
  void SendMore();
  void Write(v1::TunnelFrame frame);
  void Done(const absl::Status& status);

  EventLoop& loop_;
  const std::unique_ptr<logs::LogFeed> feed_;
  bool follow_;
  const OnDone on_done_;
  const Duration longest_stall_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool writing_ = true;  ///< the opening frame at first
  bool sent_end_ = false;
  std::unique_ptr<EventLoop::Handle> stall_;   ///< while the reader is to do something
  std::unique_ptr<EventLoop::Handle> growth_;  ///< while there is nothing to send
  std::unique_ptr<TunnelEnd> end_;             ///< last: its callbacks use the rest
};

/// All that read the logs of one folder. Not thread safe: owned by the event loop.
class LogSenders {
 public:
  /// `folder`: with the logs of this process's container.
  LogSenders(EventLoop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)) {}

  /// Answers tunnel number `tunnel` by way of `dialer` with what is wished for. The codes of
  /// os::LogFeed, and the tunnel is still to be answered.
  absl::Status Send(int64_t tunnel, const v1::LogWish& wish,
                    const std::shared_ptr<TunnelDialer>& dialer);

  /// Nothing more will be written into the folder. `done` follows when all readers have all of it,
  /// maybe from within the call.
  void Finish(std::function<void()> done);

 private:
  void Forget(const LogSender* sender);

  EventLoop& loop_;
  const std::string folder_;
  std::function<void()> done_;  ///< null: Finish() was not called, or has been answered
  bool finished_ = false;
  std::list<std::unique_ptr<LogSender>> senders_;
};

}  // namespace tony::rpc
