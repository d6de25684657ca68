// Each direction reads its next piece only after the previous one was written: backpressure without
// a buffer.
#include "rpc/tunnel/tunnel_pump.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/on_loop.h"
#include "tony/v1/application_master.pb.h"

namespace tony::rpc {

TunnelPump::TunnelPump(EventLoop& loop, std::unique_ptr<TcpSocket> socket, const Dial& dial,
                       OnDone on_done, Duration longest_silence)
    : loop_(loop),
      on_done_(std::move(on_done)),
      longest_silence_(longest_silence),
      socket_(std::move(socket)) {
  AwaitBytes();
  end_ = dial({OnLoop(loop_, lifetime_, this, &TunnelPump::OnFrame),
               OnLoop(loop_, lifetime_, this, &TunnelPump::OnWritten),
               OnLoop(loop_, lifetime_, this, &TunnelPump::OnClosed)});
  end_->Read();
}

TunnelPump::~TunnelPump() {
  if (socket_ != nullptr && !(sent_end_ && received_end_)) socket_->Break();
}

void TunnelPump::OnWritten() {
  carried_ = true;
  // A socket that has ended has nothing more to read.
  if (!sent_end_) ReadSocket();
}

void TunnelPump::ReadSocket() {
  socket_->Read([this](absl::StatusOr<std::string> bytes) { OnSocketRead(std::move(bytes)); },
                kMostPieceBytes);
}

void TunnelPump::OnSocketRead(absl::StatusOr<std::string> bytes) {
  if (!bytes.ok()) return Finish(bytes.status());
  v1::TunnelFrame frame;
  if (bytes->empty()) {
    sent_end_ = true;
    frame.mutable_end();
  } else {
    frame.set_data(*std::move(bytes));
  }
  end_->Write(std::move(frame));
}

void TunnelPump::OnFrame(v1::TunnelFrame frame) {
  carried_ = true;
  if (frame.has_end()) {
    received_end_ = true;
    socket_->EndWriting();
    end_->Read();  // waits for the stream's end
    return;
  }
  socket_->Write(std::move(*frame.mutable_data()),
                 [this](const absl::Status& status) { OnSocketWritten(status); });
}

void TunnelPump::OnSocketWritten(const absl::Status& status) {
  if (!status.ok()) return Finish(status);
  end_->Read();
}

void TunnelPump::OnClosed(absl::Status status) {
  if (status.ok() && !(sent_end_ && received_end_)) {
    status = absl::UnavailableError("the tunnel ended before what it carries");
  }
  Finish(status);
}

void TunnelPump::AwaitBytes() {
  carried_ = false;
  silence_ = loop_.After(longest_silence_, [this] {
    if (carried_) return AwaitBytes();
    Finish(absl::DeadlineExceededError(
        absl::StrCat("the tunnel carried nothing for ",
                     std::chrono::duration_cast<std::chrono::seconds>(longest_silence_).count(),
                     " s and was closed")));
  });
}

void TunnelPump::Finish(const absl::Status& status) {
  if (!status.ok()) {
    LogDebug("a tunnel is broken off", {{"why", status.message()}});
    socket_->Break();
  }
  silence_.reset();
  lifetime_.End();
  end_.reset();
  // Copied, because the owner may destroy this object in the call.
  const OnDone done = on_done_;
  done(status);
}

}  // namespace tony::rpc
