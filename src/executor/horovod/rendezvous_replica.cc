// Carries the frames of the store's protocol over one tunnel at a time. A broken tunnel is dialled
// again with exponential backoff; the store keeps its pending requests and sends them again.
#include "executor/horovod/rendezvous_replica.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/on_loop.h"
#include "common/status_macros.h"
#include "os/network/peer_user.h"
#include "rpc/convert/convert_rendezvous.h"
#include "rpc/tunnel/tunnel_pump.h"
#include "rpc/tunnel/tunnel_relay.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {
namespace {

constexpr std::chrono::milliseconds kShortestPause{50};
constexpr std::chrono::milliseconds kLongestPause{2000};

}  // namespace

absl::StatusOr<std::unique_ptr<RendezvousReplica>> RendezvousReplica::Start(EventLoop& loop,
                                                                            Dial dial) {
  std::unique_ptr<RendezvousReplica> replica(new RendezvousReplica(loop, std::move(dial)));
  TONY_ASSIGN_OR_RETURN(
      replica->server_,
      rendezvous::RendezvousServer::Start(loop, replica->store_, 0, os::LoopbackPeerCheck(), {}));
  replica->Connect();
  return replica;
}

RendezvousReplica::RendezvousReplica(EventLoop& loop, Dial dial)
    : loop_(loop), dial_(std::move(dial)), store_(loop) {}

RendezvousReplica::~RendezvousReplica() = default;

// Callbacks of the tunnel come on threads of gRPC. OnLoop() posts them and drops those of a tunnel
// whose lifetime has ended, so an old tunnel cannot disturb the new one.
void RendezvousReplica::Connect() {
  frames_ = std::make_unique<FrameReader>(rpc::kMostRendezvousFrameBytes,
                                          "the protocol of the rendezvous store");
  tunnel_lifetime_.emplace();
  // Writing starts as busy because the opening frame is on its way; OnWritten() follows it.
  writing_ = true;
  end_ = dial_({OnLoop(loop_, *tunnel_lifetime_, this, &RendezvousReplica::OnFrame),
                OnLoop(loop_, *tunnel_lifetime_, this, &RendezvousReplica::OnWritten),
                OnLoop(loop_, *tunnel_lifetime_, this, &RendezvousReplica::OnClosed)});
  end_->Read();
  store_.Attach([this](const core::ReplicaRequest& request) { Queue(rpc::ToFrame(request)); });
  KeepAlive();
}

void RendezvousReplica::DialAgain() {
  LogDebug("the rendezvous' driver is dialled anew: the ApplicationMaster is another one");
  if (end_ != nullptr) Break(absl::UnavailableError("the ApplicationMaster is another one"));
  pause_ = Duration(0);
  retry_.reset();
  Connect();
}

void RendezvousReplica::OnFrame(v1::TunnelFrame frame) {
  if (!frame.has_data()) return Break(absl::UnavailableError("the driver has ended the tunnel"));
  pause_ = Duration(0);
  const absl::Status taken = Take(frame.data());
  if (!taken.ok()) return Break(taken);
  end_->Read();
}

// The tunnel carries bytes, not frames: one piece may hold several frames, or a part of one.
absl::Status RendezvousReplica::Take(const std::string& bytes) {
  return frames_->Take(bytes, [this](const std::string& frame) -> absl::Status {
    TONY_ASSIGN_OR_RETURN(const core::ReplicaMessage message, rpc::ReplicaMessageIn(frame));
    store_.OnMessage(message);
    return absl::OkStatus();
  });
}

void RendezvousReplica::Queue(std::string frame) {
  queue_.push_back(std::move(frame));
  Write();
}

// One write is under way at a time, so the queue takes up whatever the tunnel cannot take. Small
// frames are joined, and a large one is split, at the largest frame that a relay carries.
void RendezvousReplica::Write() {
  if (writing_ || queue_.empty()) return;
  v1::TunnelFrame frame;
  std::string& bytes = *frame.mutable_data();
  while (!queue_.empty() && bytes.size() < rpc::TunnelRelay::kMostFrameBytes) {
    const size_t room = rpc::TunnelRelay::kMostFrameBytes - bytes.size();
    const std::string& first = queue_.front();
    const size_t count = std::min(room, first.size() - sent_bytes_);
    bytes.append(first, sent_bytes_, count);
    sent_bytes_ += count;
    if (sent_bytes_ < first.size()) break;
    queue_.pop_front();
    sent_bytes_ = 0;
  }
  writing_ = true;
  end_->Write(std::move(frame));
}

void RendezvousReplica::OnWritten() {
  writing_ = false;
  Write();
}

void RendezvousReplica::OnClosed(absl::Status status) { Break(status); }

// The queue is dropped: it may begin with the rest of a frame that was partly sent, and Attach()
// queues all pending requests again.
void RendezvousReplica::Break(const absl::Status& why) {
  tunnel_lifetime_.reset();
  store_.Detach();
  queue_.clear();
  sent_bytes_ = 0;
  keep_alive_.reset();
  end_.reset();
  if (pause_ == Duration(0)) {
    LogInfo(absl::StrCat("the rendezvous' driver is not reached, and tried again: ",
                         std::string(why.message())));
  }
  LogDebug("the tunnel to the rendezvous' driver broke",
           {{"why", why.message()}, {"pause_ms", pause_ / std::chrono::milliseconds(1)}});
  pause_ = std::clamp<Duration>(pause_ * 2, kShortestPause, kLongestPause);
  retry_ = loop_.After(pause_, [this] { Connect(); });
}

void RendezvousReplica::KeepAlive() {
  keep_alive_ = loop_.After(rpc::TunnelPump::kLongestSilence / 3, [this] {
    Queue(rpc::SignOfLife());
    KeepAlive();
  });
}

}  // namespace tony::executor
