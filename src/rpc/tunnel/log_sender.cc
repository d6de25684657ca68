// A loop of three events: the last frame was written, files have grown, the reader is gone.
#include "rpc/tunnel/log_sender.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/on_loop.h"
#include "common/status_macros.h"
#include "rpc/convert/log_piece.h"
#include "tony/v1/application_master.pb.h"

namespace tony::rpc {

LogSender::LogSender(EventLoop& loop, std::unique_ptr<logs::LogFeed> feed, bool follow,
                     const Dial& dial, OnDone on_done, Duration longest_stall)
    : loop_(loop),
      feed_(std::move(feed)),
      follow_(follow),
      on_done_(std::move(on_done)),
      longest_stall_(longest_stall) {
  end_ = dial({OnLoop(loop_, lifetime_, this, &LogSender::OnFrame),
               OnLoop(loop_, lifetime_, this, &LogSender::OnWritten),
               OnLoop(loop_, lifetime_, this, &LogSender::OnClosed)});
  end_->Read();
}

LogSender::~LogSender() = default;

void LogSender::Finish() {
  follow_ = false;
  if (!writing_) SendMore();
}

void LogSender::OnWritten() {
  writing_ = false;
  stall_.reset();
  if (!sent_end_) return SendMore();
  stall_ = loop_.After(longest_stall_, [this] {
    Done(absl::DeadlineExceededError("whoever has read the logs does not go"));
  });
}

void LogSender::SendMore() {
  if (sent_end_) return;
  std::optional<logs::LogPiece> piece = feed_->Next();
  v1::TunnelFrame frame;
  if (piece) {
    *frame.mutable_log() = ToProto(*std::move(piece));
  } else if (follow_) {
    if (growth_ == nullptr) growth_ = loop_.WatchReadable(feed_->fd(), [this] { SendMore(); });
    return;
  } else {
    frame.mutable_end();
    sent_end_ = true;
  }
  growth_.reset();
  Write(std::move(frame));
}

void LogSender::Write(v1::TunnelFrame frame) {
  writing_ = true;
  stall_ = loop_.After(longest_stall_, [this] {
    Done(absl::DeadlineExceededError("whoever reads the logs takes nothing"));
  });
  end_->Write(std::move(frame));
}

void LogSender::OnFrame(v1::TunnelFrame /*frame*/) {
  // A reader sends nothing but the end of its direction, so the frame is ignored.
  end_->Read();
}

void LogSender::OnClosed(absl::Status status) {
  if (status.ok() && !sent_end_) status = absl::UnavailableError("the reader of the logs is gone");
  Done(status);
}

void LogSender::Done(const absl::Status& status) {
  LogDebug("the sending of logs ends", {{"why", status.message()}});
  stall_.reset();
  growth_.reset();
  lifetime_.End();
  end_.reset();
  // Copied, because the owner may destroy this object in the call.
  const OnDone done = on_done_;
  done(status);
}

absl::Status LogSenders::Send(int64_t tunnel, const v1::LogWish& wish,
                              const std::shared_ptr<TunnelDialer>& dialer) {
  TONY_ASSIGN_OR_RETURN(
      std::unique_ptr<logs::LogFeed> feed,
      logs::LogFeed::Open(
          folder_, [wish](const logs::ContainerLogFile& file) { return IsWanted(wish, file); },
          wish.follow()));
  std::unique_ptr<LogSender>& sender = senders_.emplace_back();
  sender = std::make_unique<LogSender>(
      loop_, std::move(feed), wish.follow(),
      [&](TunnelEnd::Callbacks callbacks) {
        return dialer->Answer(tunnel, absl::OkStatus(), std::move(callbacks));
      },
      [this, &sender](const absl::Status&) { Forget(sender.get()); });
  if (finished_) sender->Finish();
  return absl::OkStatus();
}

void LogSenders::Finish(std::function<void()> done) {
  finished_ = true;
  if (senders_.empty()) return done();
  done_ = std::move(done);
  for (const std::unique_ptr<LogSender>& sender : senders_) sender->Finish();
}

void LogSenders::Forget(const LogSender* sender) {
  senders_.remove_if([sender](const auto& other) { return other.get() == sender; });
  if (senders_.empty() && done_) std::exchange(done_, nullptr)();
}

}  // namespace tony::rpc
