// Sends the logs in a container's folder through tunnels, as they grow.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "logs/log_feed.h"
#include "rpc/tunnel/tunnel_end.h"

namespace tony::rpc {

/// Sends one piece at a time: it reads the next piece when gRPC has taken the one before, so that a
/// slow reader delays only itself. The kernel wakes it when files grow. Not thread safe: owned by
/// the event loop.
class LogSender {
 public:
  /// The longest time for which a reader may take nothing, or may stay after it has everything;
  /// after that it is assumed to have gone without notice.
  static constexpr std::chrono::minutes kLongestStall{15};

  using Dial = std::function<std::unique_ptr<TunnelEnd>(TunnelEnd::Callbacks)>;
  /// OK – all was sent. DeadlineExceeded – the reader takes nothing, or does not go. Otherwise the
  /// codes of the Tunnel call. May destroy the sender.
  using OnDone = std::function<void(const absl::Status&)>;

  /// `follow`: keep sending as the logs grow, until Finish().
  LogSender(EventLoop& loop, std::unique_ptr<logs::LogFeed> feed, bool follow, const Dial& dial,
            OnDone on_done, Duration longest_stall = kLongestStall);
  ~LogSender();
  LogSender(const LogSender&) = delete;
  LogSender& operator=(const LogSender&) = delete;

  /// Nothing more will be written: sends the rest, then the end mark.
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
  Lifetime lifetime_;    ///< ends when the sending is done, or with the sender
  bool writing_ = true;  ///< true at first: the opening frame is being written
  bool sent_end_ = false;
  std::unique_ptr<EventLoop::Handle> stall_;   ///< set while the reader is expected to act
  std::unique_ptr<EventLoop::Handle> growth_;  ///< set while there is nothing to send
  std::unique_ptr<TunnelEnd> end_;  ///< last, because its callbacks use the members above
};

/// All senders for the logs of one folder. Not thread safe: owned by the event loop.
class LogSenders {
 public:
  /// `folder`: holds the logs of this process's container.
  LogSenders(EventLoop& loop, std::string folder) : loop_(loop), folder_(std::move(folder)) {}

  /// Answers tunnel `tunnel` through `dialer` with the logs named by `wish`. On an error (the codes
  /// of logs::LogFeed) the caller still has to answer the tunnel.
  absl::Status Send(int64_t tunnel, const v1::LogWish& wish,
                    const std::shared_ptr<TunnelDialer>& dialer);

  /// Nothing more will be written into the folder. `done` is called when all readers have received
  /// everything, possibly from within this call.
  void Finish(std::function<void()> done);

 private:
  void Forget(const LogSender* sender);

  EventLoop& loop_;
  const std::string folder_;
  std::function<void()> done_;  ///< null: Finish() was not called, or `done` has been called
  bool finished_ = false;
  std::list<std::unique_ptr<LogSender>> senders_;
};

}  // namespace tony::rpc
