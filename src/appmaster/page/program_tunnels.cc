// A link asks the tunnel for a frame when the gate asks for bytes, so nothing piles up.
#include "appmaster/page/program_tunnels.h"

#include <utility>

#include "absl/strings/match.h"
#include "common/lifetime.h"
#include "common/logging.h"
#include "common/on_loop.h"
#include "common/status_macros.h"
#include "tony/v1/application_master.pb.h"

namespace tony::appmaster {
namespace {

/// One tunnel. Not thread safe: owned by the event loop.
class TunnelLink : public web::ProgramLink {
 public:
  using Dial = std::function<std::unique_ptr<rpc::TunnelEnd>(rpc::TunnelEnd::Callbacks)>;

  TunnelLink(EventLoop& loop, const Dial& dial)
      : loop_(loop),
        end_(dial({OnLoop(loop, lifetime_, this, &TunnelLink::OnFrame),
                   OnLoop(loop, lifetime_, this, &TunnelLink::OnWritten),
                   OnLoop(loop, lifetime_, this, &TunnelLink::OnClosed)})) {}

  void Read(OnRead on_read) override {
    on_read_ = std::move(on_read);
    if (over_) {
      loop_.Post(lifetime_.Guard([this] { Deliver(*over_); }));
      return;
    }
    end_->Read();
  }

  void Write(std::string bytes, std::function<void()> on_written) override {
    on_written_ = std::move(on_written);
    v1::TunnelFrame frame;
    frame.set_data(std::move(bytes));
    if (opened_) return end_->Write(std::move(frame));
    // The opening frame is still being written, and frames are written one at a time.
    waiting_ = std::make_unique<v1::TunnelFrame>(std::move(frame));
  }

 private:
  // The callback may destroy this object.
  void Deliver(absl::StatusOr<std::string> bytes) {
    if (const OnRead on_read = std::exchange(on_read_, nullptr)) on_read(std::move(bytes));
  }

  void OnFrame(v1::TunnelFrame frame) {
    Deliver(frame.has_end() ? std::string() : std::move(*frame.mutable_data()));
  }

  void OnWritten() {
    if (!std::exchange(opened_, true)) {
      if (waiting_ != nullptr) end_->Write(std::move(*std::exchange(waiting_, nullptr)));
      return;
    }
    if (const auto on_written = std::exchange(on_written_, nullptr)) on_written();
  }

  // The program's end is a frame; without that frame, what has come may be incomplete.
  void OnClosed(absl::Status status) {
    over_ = status.ok() ? absl::UnavailableError("the tunnel ended before what it carries")
                        : std::move(status);
    LogDebug("a tunnel to the job's program is over", {{"why", over_->message()}});
    if (on_read_ != nullptr) Deliver(*over_);
  }

  EventLoop& loop_;
  Lifetime lifetime_;
  OnRead on_read_;
  std::function<void()> on_written_;
  bool opened_ = false;                       ///< the opening frame was written
  std::unique_ptr<v1::TunnelFrame> waiting_;  ///< the first frame of bytes, until then
  std::optional<absl::Status> over_;          ///< the stream is over
  std::unique_ptr<rpc::TunnelEnd> end_;       ///< last, because its callbacks use the members above
};

}  // namespace

std::unique_ptr<web::ProgramLink> MakeTunnelLink(
    EventLoop& loop,
    const std::function<std::unique_ptr<rpc::TunnelEnd>(rpc::TunnelEnd::Callbacks)>& dial) {
  return std::make_unique<TunnelLink>(loop, dial);
}

std::string ProgramTunnels::program() {
  const auto& program = program_();
  return program ? program->task.ToString() : "the job";
}

// The address is one of ours, "http://host:6006".
std::string ProgramTunnels::authority() {
  constexpr char kScheme[] = "http://";
  const auto& program = program_();
  if (!program || !absl::StartsWith(program->url, kScheme)) return "";
  const std::string rest = program->url.substr(sizeof kScheme - 1);
  return rest.substr(0, rest.find('/'));
}

absl::StatusOr<std::unique_ptr<web::ProgramLink>> ProgramTunnels::Open() {
  const auto& program = program_();
  if (!program) {
    return absl::FailedPreconditionError("nothing listens at the job's TB_PORT (yet, or any more)");
  }
  TONY_ASSIGN_OR_RETURN(const std::shared_ptr<rpc::TunnelDialer> dialer, dialer_());
  return MakeTunnelLink(loop_, [&](rpc::TunnelEnd::Callbacks callbacks) {
    return dialer->Open(program->task, 0, std::move(callbacks));
  });
}

}  // namespace tony::appmaster
