// Flow control is by reading: the next frame is asked for only after the last one is on disk. The
// receiver closes its own direction at once and ends when the sender has sent its end and closed
// the stream.
#include "history/log_receiver.h"

#include <algorithm>
#include <functional>
#include <list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/on_loop.h"
#include "rpc/convert/log_piece.h"
#include "tony/v1/application_master.pb.h"

namespace tony::history {

namespace {

/// Longest wait for one piece of a log that is not followed.
constexpr std::chrono::seconds kPatience{30};
/// Tunnels open at a time. An ApplicationMaster carries 1,024 for all readers of logs
/// (docs/design/logs.md).
constexpr size_t kMostAtOnce = 256;

}  // namespace

LogReceiver::LogReceiver(EventLoop& loop, LogMirror& mirror, LogOrigin origin,
                         const v1::LogWish& wish, std::optional<Duration> patience,
                         const rpc::TunnelDialer& dialer, Callbacks callbacks)
    : loop_(loop),
      mirror_(mirror),
      origin_(std::move(origin)),
      patience_(patience),
      callbacks_(std::move(callbacks)),
      end_(dialer.OpenLogs(wish, {OnLoop(loop_, lifetime_, this, &LogReceiver::OnFrame),
                                  OnLoop(loop_, lifetime_, this, &LogReceiver::OnWritten),
                                  OnLoop(loop_, lifetime_, this, &LogReceiver::OnClosed)})) {
  AwaitFrame();
}

LogReceiver::~LogReceiver() = default;

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
  // The wish is all that this side has to say, so it ends its direction right after the wish was
  // written.
  v1::TunnelFrame frame;
  frame.mutable_end();
  end_->Write(std::move(frame));
}

void LogReceiver::OnFrame(v1::TunnelFrame frame) {
  if (frame.has_log()) {
    const absl::StatusOr<logs::LogPiece> piece = rpc::FromProto(std::move(*frame.mutable_log()));
    if (!piece.ok()) return Done(piece.status());
    if (!piece->trouble.empty()) {
      trouble_ = absl::DataLossError(piece->trouble);
      if (callbacks_.on_trouble) callbacks_.on_trouble(piece->trouble);
    } else {
      const absl::Status taken = mirror_.Take(origin_, *piece);
      if (!taken.ok()) return Done(taken);
    }
  } else if (frame.has_end()) {
    received_end_ = true;
  }
  AwaitFrame();
}

void LogReceiver::OnClosed(absl::Status status) {
  // After the sender's end frame everything has come, so the stream's own status does not matter.
  if (received_end_) return Done(trouble_);
  Done(status.ok() ? absl::UnavailableError("the logs ended before their end") : status);
}

void LogReceiver::Done(absl::Status status) {
  lifetime_.End();
  late_.reset();
  end_.reset();
  const auto done = callbacks_.on_done;
  done(status);
}

v1::LogWish WishFor(const LogOrigin& origin, const LogSelection& selection, bool follow) {
  v1::LogWish wish;
  wish.set_container(origin.container);
  wish.set_master(origin.master());
  wish.set_standard_output(!origin.master() && selection.standard_output);
  wish.set_standard_error(!origin.master() && selection.standard_error);
  wish.set_executor(!origin.master() && selection.executor);
  wish.set_attempt(selection.attempt);
  wish.set_follow(follow);
  return wish;
}

bool IsSelected(const LogOrigin& origin, const LogSelection& selection,
                const logs::ContainerLogFile& file) {
  if (file.stream != logs::ContainerLogFile::Stream::kStacks) {
    return rpc::IsWanted(WishFor(origin, selection, /*follow=*/false), file);
  }
  const bool of_attempt = selection.attempt == 0 || selection.attempt == file.attempt;
  return selection.stacks && of_attempt && !origin.master();
}

std::vector<UnreachedOrigin> CopyThroughTunnels(const rpc::TunnelDialer& dialer,
                                                const std::vector<LogOrigin>& origins,
                                                const LogSelection& selection, LogMirror& mirror) {
  EventLoop loop;
  std::vector<UnreachedOrigin> unreached;
  std::list<LogReceiver> receivers;
  size_t left = origins.size();
  size_t next = 0;
  std::function<void()> open_next = [&] {
    if (next == origins.size()) return;
    const LogOrigin& origin = origins[next++];
    const auto on_done = [&](const absl::Status& status) {
      if (!status.ok()) unreached.push_back({origin, status});
      if (--left == 0) loop.Stop();
      open_next();
    };
    receivers.emplace_back(loop, mirror, origin, WishFor(origin, selection, /*follow=*/false),
                           kPatience, dialer, LogReceiver::Callbacks{nullptr, on_done});
  };
  for (size_t opened = 0; opened < std::min(kMostAtOnce, origins.size()); ++opened) open_next();
  if (left > 0) loop.Run();
  return unreached;
}

}  // namespace tony::history
