// From the tunnel into the mirror.
#include "client/log_receiver.h"

#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/log_origins.h"
#include "common/on_loop.h"
#include "rpc/log_piece.h"

namespace tony::client {

namespace {

/// For one piece of a log that is there.
constexpr std::chrono::seconds kPatience{30};

}  // namespace

LogReceiver::LogReceiver(EventLoop& loop, LogMirror& mirror, LogOrigin origin,
                         const v1::LogWish& wish, std::optional<Duration> patience,
                         const rpc::TunnelDialer& dialer, OnDone on_done)
    : loop_(loop),
      mirror_(mirror),
      origin_(std::move(origin)),
      patience_(patience),
      on_done_(std::move(on_done)),
      end_(dialer.OpenLogs(wish, {OnLoop(loop_, alive_, this, &LogReceiver::OnFrame),
                                  OnLoop(loop_, alive_, this, &LogReceiver::OnWritten),
                                  OnLoop(loop_, alive_, this, &LogReceiver::OnClosed)})) {
  AwaitFrame();
}

LogReceiver::~LogReceiver() { *alive_ = false; }

void LogReceiver::AwaitFrame() {
  if (patience_) {
    late_ = loop_.After(*patience_, [this] {
      Done(absl::DeadlineExceededError(absl::StrCat("for ", *patience_ / std::chrono::seconds(1),
                                                    " s nothing of its logs has come")));
    });
  }
  end_->Read();
}

void LogReceiver::OnWritten() {
  if (std::exchange(sent_end_, true)) return;
  // There is nothing to say but what is wished for.
  v1::TunnelFrame frame;
  frame.mutable_end();
  end_->Write(std::move(frame));
}

void LogReceiver::OnFrame(v1::TunnelFrame frame) {
  if (frame.has_log()) {
    const absl::StatusOr<os::LogPiece> piece = rpc::FromProto(std::move(*frame.mutable_log()));
    if (!piece.ok()) return Done(piece.status());
    const absl::Status taken = mirror_.Take(origin_, *piece);
    if (!taken.ok()) return Done(taken);
  } else if (frame.has_end()) {
    received_end_ = true;
  }
  AwaitFrame();
}

void LogReceiver::OnClosed(absl::Status status) {
  // All that there is has come: how the stream ends does not matter any more.
  if (received_end_) return Done(absl::OkStatus());
  Done(status.ok() ? absl::UnavailableError("the logs ended before their end") : status);
}

void LogReceiver::Done(const absl::Status& status) {
  *alive_ = false;
  late_.reset();
  end_.reset();
  // The owner may destroy this object.
  const OnDone done = on_done_;
  done(status);
}

std::vector<UnreachedOrigin> CopyThroughTunnels(const rpc::TunnelDialer& dialer,
                                                const std::vector<LogOrigin>& origins,
                                                const LogSelection& selection, LogMirror& mirror) {
  EventLoop loop;
  std::vector<UnreachedOrigin> unreached;
  std::list<LogReceiver> receivers;
  size_t left = origins.size();
  for (const LogOrigin& origin : origins) {
    receivers.emplace_back(loop, mirror, origin, WishFor(origin, selection, /*follow=*/false),
                           kPatience, dialer, [&](const absl::Status& status) {
                             if (!status.ok()) unreached.push_back({origin, status});
                             if (--left == 0) loop.Stop();
                           });
  }
  if (left > 0) loop.Run();
  return unreached;
}

}  // namespace tony::client
