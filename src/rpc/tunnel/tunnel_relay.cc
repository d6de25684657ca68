// Each stream is a Leg; a joined Leg forwards each frame that it reads to its peer's stream.
#include "rpc/tunnel/tunnel_relay.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "logs/log_feed.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/status_convert.h"
#include "rpc/grpc/stream_reactor.h"
#include "rpc/tunnel/tunnel_frame.h"

namespace tony::rpc {

static_assert(TunnelRelay::kMostFrameBytes >= logs::LogFeed::kMostBytes, "pieces of logs pass");

using grpc::StatusCode;

namespace {

/// The most bytes of a frame besides its data, for the place of a piece of a log, say.
constexpr size_t kMostFrameOverhead = size_t{4} * 1024;

grpc::Status TooMany(int most) {
  return grpc::Status(
      StatusCode::RESOURCE_EXHAUSTED,
      absl::StrCat("the job has ", most, " open tunnels, and no more are allowed; close some"));
}

/// The status for the client of an executor that refuses the tunnel.
grpc::Status Refusal(const v1::TunnelAnswer& answer) {
  const bool known =
      answer.code() >= StatusCode::CANCELLED && answer.code() <= StatusCode::UNAUTHENTICATED;
  return grpc::Status(known ? static_cast<StatusCode>(answer.code()) : StatusCode::UNAVAILABLE,
                      answer.refusal());
}

}  // namespace

/// One stream. The relay's mutex guards its state. One frame at most waits for gRPC, because the
/// next one is read only when this one has been written.
class TunnelRelay::Leg : public ServerStream<TunnelReactor, grpc::ByteBuffer> {
 public:
  enum class Of { kClient, kReachingExecutor, kAnsweringExecutor };

  /// `container_id`: set for an executor that answers.
  Leg(TunnelRelay& relay, grpc::CallbackServerContext* context, Of of, std::string container_id)
      : ServerStream(relay.mutex_, 1),
        relay_(relay),
        context_(context),
        of_(of),
        container_id_(std::move(container_id)) {
    std::lock_guard lock(relay_.mutex_);
    relay_.legs_.insert(this);
    if (is_client()) ++relay_.clients_;
    if (!relay_.closed_.empty()) {
      EndLocked(grpc::Status(StatusCode::UNAVAILABLE, relay_.closed_));
    } else if (relay_.clients_ > kMostTunnels + kMostLogTunnels + kMostExecTunnels) {
      EndLocked(TooMany(kMostTunnels + kMostLogTunnels + kMostExecTunnels));
    } else {
      StartRead(&incoming_);
    }
  }

  bool is_client() const { return of_ == Of::kClient; }
  /// Whether the stream begins with a wish, not with the answer to one.
  bool wishes() const { return of_ != Of::kAnsweringExecutor; }
  /// Sets the container whose executor may answer this leg's wish.
  void set_expected_container(const std::string& id) { expected_container_ = id; }

  void OnReadDone(bool ok) override {
    std::lock_guard lock(relay_.mutex_);
    if (finished_locked()) return;
    if (!ok) return BreakLocked();
    if (peer_ != nullptr) return ForwardLocked();
    const absl::StatusOr<v1::TunnelFrame> first = ParseFrame(std::move(incoming_));
    if (!first.ok()) return EndLocked(ToGrpc(first.status()));
    if (wishes()) return WishLocked(*first);
    AnswerLocked(*first);
  }

  void OnCancel() override {
    std::lock_guard lock(relay_.mutex_);
    BreakLocked();
  }

  /// Ends the stream; a frame that is being written may be lost.
  void EndLocked(const grpc::Status& status) {
    if (!FinishLocked(status)) return;
    LogDebug("a tunnel's stream ends", {{"tunnel", tunnel_},
                                        {"container", container_id_},
                                        {"peer", context_->peer()},
                                        {"why", status.error_message()}});
    relay_.waiting_.erase(tunnel_);
    // A peer that does not read would keep the write, and so the stream, open for ever.
    if (writing_locked()) context_->TryCancel();
  }

 private:
  void OnWritten(bool ok, const grpc::ByteBuffer& /*written*/,
                 std::unique_lock<std::mutex>& /*lock*/) override {
    if (!ok || peer_ == nullptr) return BreakLocked();
    if (peer_->end_forwarded_) {
      peer_->direction_over_ = true;
      if (direction_over_) EndBothLocked(grpc::Status::OK);
      return;  // a leg that has ended its direction is not read any more
    }
    peer_->StartRead(&peer_->incoming_);
  }

  void OnDoneLocked() override {
    relay_.legs_.erase(this);
    relay_.waiting_.erase(tunnel_);
    if (is_client()) --relay_.clients_;
    if (counted_ != nullptr) --*counted_;
    if (peer_ != nullptr) peer_->peer_ = nullptr;
  }

  /// Handles the first frame of a leg with a wish.
  void WishLocked(const v1::TunnelFrame& first) {
    if (!first.has_open()) {
      return EndLocked(grpc::Status(StatusCode::INVALID_ARGUMENT,
                                    "a tunnel begins with the port that it is to reach"));
    }
    const v1::TunnelOpen& open = first.open();
    logs_ = open.has_logs() && is_client();
    exec_ = open.has_exec() && is_client() && !logs_;
    const int most = CountLocked();
    if (++*counted_ > most) {
      relay_.crowd_log_.Log(LogLevel::kWarning, "a tunnel is refused: too many are open",
                            {{"peer", context_->peer()}, {"most", most}});
      return EndLocked(TooMany(most));
    }
    tunnel_ = ++relay_.last_tunnel_;
    relay_.waiting_[tunnel_] = this;
    Wish wish{.tunnel = tunnel_, .task = FromProto(open.task()), .port = open.port()};
    wish.by_executor = !is_client();
    if (logs_) wish.logs = open.logs();
    if (exec_) wish.exec = open.exec();
    relay_.on_wish_(wish);
  }

  /// Chooses the counter that counts this leg, and returns its limit.
  int CountLocked() {
    if (!is_client()) {
      counted_ = &relay_.executors_;
      return kMostExecutorTunnels;
    }
    if (logs_) {
      counted_ = &relay_.log_clients_;
      return kMostLogTunnels;
    }
    counted_ = exec_ ? &relay_.exec_clients_ : &relay_.port_clients_;
    return exec_ ? kMostExecTunnels : kMostTunnels;
  }

  /// Handles the first frame of an executor that answers.
  void AnswerLocked(const v1::TunnelFrame& first) {
    const v1::TunnelAnswer& answer = first.answer();
    const auto found = relay_.waiting_.find(answer.tunnel());
    if (!first.has_answer() || found == relay_.waiting_.end() ||
        found->second->expected_container_ != container_id_) {
      relay_.stray_log_.Log(
          LogLevel::kInfo, "an answer to a tunnel that nobody waits for is refused",
          {{"tunnel", answer.tunnel()}, {"container", container_id_}, {"peer", context_->peer()}});
      return EndLocked(
          grpc::Status(StatusCode::NOT_FOUND, "nobody waits for this tunnel (any more)"));
    }
    Leg* const wisher = found->second;
    relay_.waiting_.erase(found);
    if (answer.code() != 0 || !answer.refusal().empty()) {
      wisher->EndLocked(Refusal(answer));
      return EndLocked(grpc::Status::OK);
    }
    // From here on each side has one read in flight; a further read of a side starts only when its
    // frame has been written to the other.
    peer_ = wisher;
    wisher->peer_ = this;
    StartRead(&incoming_);
    wisher->StartRead(&wisher->incoming_);
  }

  /// Forwards the frame that was read to the peer, as it is.
  void ForwardLocked() {
    const absl::Status passes = CheckLocked();
    if (!passes.ok()) return EndBothLocked(ToGrpc(passes));
    // A peer that has ended takes nothing, and its end ends this leg, too.
    peer_->WriteLocked(std::exchange(incoming_, grpc::ByteBuffer())).IgnoreError();
  }

  /// Whether the frame that was read may pass. Its end parses it; here its kind is enough.
  absl::Status CheckLocked() {
    const v1::TunnelFrame::BodyCase kind = KindOf(incoming_);
    end_forwarded_ = kind == v1::TunnelFrame::kEnd;
    // Pieces of logs may flow only from an executor to a client that asked for logs.
    const bool log = kind == v1::TunnelFrame::kLog && peer_->logs_;
    const bool exec = kind == v1::TunnelFrame::kExec && (exec_ || peer_->exec_);
    if (kind != v1::TunnelFrame::kData && !end_forwarded_ && !log && !exec) {
      return absl::InvalidArgumentError("after a tunnel's first frame come bytes and an end");
    }
    if (incoming_.Length() > kMostFrameBytes + kMostFrameOverhead) {
      return absl::InvalidArgumentError(
          absl::StrCat("a frame has more than ", kMostFrameBytes, " bytes"));
    }
    return absl::OkStatus();
  }

  /// Ends both streams, because this one's remote end is gone.
  void BreakLocked() {
    EndBothLocked(grpc::Status(StatusCode::UNAVAILABLE,
                               is_client() ? "the client's end of the tunnel is gone"
                               : wishes()  ? "the executor's end of the tunnel is gone"
                                           : "the task's end of the tunnel is gone"));
  }

  void EndBothLocked(const grpc::Status& status) {
    EndLocked(status);
    if (peer_ != nullptr) peer_->EndLocked(status);
  }

  TunnelRelay& relay_;
  grpc::CallbackServerContext* const context_;
  const Of of_;
  const std::string container_id_;
  std::string expected_container_;
  int64_t tunnel_ = 0;      ///< 0 until the leg has told its wish
  bool logs_ = false;       ///< the leg is a client's, which wants logs
  bool exec_ = false;       ///< the leg is a client's, which wants a command
  int* counted_ = nullptr;  ///< the relay's counter that counts this leg, once it has told its wish
  Leg* peer_ = nullptr;     ///< the other stream, once they are joined
  grpc::ByteBuffer incoming_;
  bool end_forwarded_ = false;   ///< the end of this leg's direction was given to the peer
  bool direction_over_ = false;  ///< and the peer has written it
};

TunnelReactor* TunnelRelay::FromClient(grpc::CallbackServerContext* context) {
  return new Leg(*this, context, Leg::Of::kClient, "");
}

TunnelReactor* TunnelRelay::FromReachingExecutor(grpc::CallbackServerContext* context) {
  return new Leg(*this, context, Leg::Of::kReachingExecutor, "");
}

TunnelReactor* TunnelRelay::FromExecutor(grpc::CallbackServerContext* context,
                                         const std::string& container_id) {
  return new Leg(*this, context, Leg::Of::kAnsweringExecutor, container_id);
}

void TunnelRelay::Expect(int64_t tunnel, const std::string& container_id) {
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(tunnel);
  if (found != waiting_.end()) found->second->set_expected_container(container_id);
}

void TunnelRelay::Refuse(int64_t tunnel, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  const auto found = waiting_.find(tunnel);
  if (found != waiting_.end()) found->second->EndLocked(ToGrpc(why));
}

void TunnelRelay::Close(const std::string& why) {
  std::lock_guard lock(mutex_);
  closed_ = why;
  for (Leg* leg : legs_) leg->EndLocked(grpc::Status(StatusCode::UNAVAILABLE, why));
}

}  // namespace tony::rpc
