// One session per replica, with a queue of shared frames. A session that falls too far behind is
// ended: a new connection begins with a snapshot of the current state.
#include "driver/replica_acceptor.h"

#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/frame_reader.h"
#include "common/lifetime.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/network/peer_user.h"
#include "rendezvous/replica_store.h"
#include "rpc/convert/convert_rendezvous.h"

namespace tony::driver {
namespace {

/// Small frames are joined up to this size.
constexpr size_t kWriteBytes = size_t{64} * 1024;
/// Upper bound of the values queued for one replica; the store may have given them up meanwhile.
constexpr size_t kMostQueuedBytes = size_t{256} << 20;

}  // namespace

/// Makes the frames. The replicas are told of a change one after the other, so remembering the last
/// frame lets all of them share it.
class ReplicaAcceptor::Frames {
 public:
  using Frame = std::shared_ptr<const rpc::ReplicaFrame>;

  Frame For(const core::ReplicaMessage& message) {
    const auto* operation = std::get_if<core::StoreOperation>(&message);
    const auto* put = operation == nullptr ? nullptr : std::get_if<core::PutValue>(operation);
    if (put == nullptr) return Make(message);
    // The frame keeps its value alive, so no other value can have the same address.
    if (last_ == nullptr || last_->value != put->value || scope_ != put->scope ||
        key_ != put->key) {
      last_ = Make(message);
      scope_ = put->scope;
      key_ = put->key;
    }
    return last_;
  }
  static size_t ValueBytes(const rpc::ReplicaFrame& frame) {
    return frame.value == nullptr ? 0 : frame.value->size();
  }

 private:
  static Frame Make(const core::ReplicaMessage& message) {
    return std::make_shared<const rpc::ReplicaFrame>(rpc::ToFrame(message));
  }

  Frame last_;  ///< the last frame with a value; null: none yet
  std::string scope_;
  std::string key_;
};

/// One replica, until its connection breaks or it sends nonsense.
class ReplicaAcceptor::Session {
 public:
  using OnOver = std::function<void(const std::string& why)>;

  Session(EventLoop& loop, rendezvous::LocalStore& store, Frames& frames,
          std::unique_ptr<TcpSocket> socket, OnOver on_over)
      : loop_(loop),
        shared_(frames),
        on_over_(std::move(on_over)),
        socket_(std::move(socket)),
        feed_(store, [this](const core::ReplicaMessage& message) { Queue(shared_.For(message)); }) {
    Read();
  }

 private:
  void Queue(Frames::Frame frame) {
    if (over_) return;
    queued_bytes_ += Frames::ValueBytes(*frame);
    queue_.push_back(std::move(frame));
    if (queued_bytes_ > kMostQueuedBytes) {
      // A replica that returns gets a snapshot of the current state. The end is posted, because
      // this is called from within the store.
      loop_.Post(lifetime_.Guard([this] { End("it takes nothing"); }));
      return;
    }
    Write();
  }

  // One write is under way at a time. The values are shared with the store and never
  // copied.
  void Write() {
    if (over_ || writing_ || queue_.empty()) return;
    std::vector<TcpSocket::Piece> pieces;
    for (size_t bytes = 0; !queue_.empty() && bytes < kWriteBytes; queue_.pop_front()) {
      const rpc::ReplicaFrame& frame = *queue_.front();
      queued_bytes_ -= Frames::ValueBytes(frame);
      bytes += frame.head.size() + Frames::ValueBytes(frame);
      pieces.push_back({frame.head, frame.value});
    }
    writing_ = true;
    socket_->WritePieces(std::move(pieces), [this](const absl::Status& status) {
      writing_ = false;
      if (!status.ok()) return End(std::string(status.message()));
      Write();
    });
  }

  void Read() {
    socket_->Read([this](absl::StatusOr<std::string> bytes) {
      if (over_) return;
      if (!bytes.ok()) return End(std::string(bytes.status().message()));
      if (bytes->empty()) return End("it has ended the connection");
      const absl::Status read = Take(*bytes);
      if (!read.ok()) return End(std::string(read.message()));
      Read();
    });
  }

  absl::Status Take(const std::string& bytes) {
    return frames_.Take(bytes, [this](const std::string& frame) -> absl::Status {
      TONY_ASSIGN_OR_RETURN(const auto request, rpc::ReplicaRequestIn(frame));
      if (request) feed_.OnRequest(*request);
      return absl::OkStatus();
    });
  }

  void End(const std::string& why) {
    if (!std::exchange(over_, true)) on_over_(why);
  }

  EventLoop& loop_;
  Frames& shared_;
  const OnOver on_over_;
  Lifetime lifetime_;
  std::unique_ptr<TcpSocket> socket_;
  bool over_ = false;
  FrameReader frames_{rpc::kMostRendezvousFrameBytes, "the protocol of replicas"};
  std::deque<Frames::Frame> queue_;
  size_t queued_bytes_ = 0;  ///< bytes of the values in the queue
  bool writing_ = false;
  rendezvous::ReplicaFeed feed_;  ///< last: it calls Queue() from its constructor
};

absl::StatusOr<std::unique_ptr<ReplicaAcceptor>> ReplicaAcceptor::Open(
    EventLoop& loop, rendezvous::LocalStore& store, int port) {
  std::unique_ptr<ReplicaAcceptor> acceptor(new ReplicaAcceptor(loop, store));
  auto listener = TcpListener::Listen(
      loop, "127.0.0.1", port, PeerFilter("the acceptor of replicas", os::LoopbackPeerCheck()),
      [acceptor = acceptor.get()](auto socket) { acceptor->OnAccepted(std::move(socket)); });
  if (!listener.ok()) return listener.status();
  acceptor->listener_ = *std::move(listener);
  return acceptor;
}

ReplicaAcceptor::ReplicaAcceptor(EventLoop& loop, rendezvous::LocalStore& store)
    : loop_(loop), store_(store), frames_(std::make_unique<Frames>()) {}

ReplicaAcceptor::~ReplicaAcceptor() = default;

void ReplicaAcceptor::OnAccepted(std::unique_ptr<TcpSocket> socket) {
  LogInfo("a replica has connected", {{"peer", socket->peer_address()}});
  sessions_.emplace_back();
  const auto place = std::prev(sessions_.end());
  *place = std::make_unique<Session>(
      loop_, store_, *frames_, std::move(socket), [this, place](const auto& why) {
        LogInfo("a replica is gone", {{"why", why}, {"left", sessions_.size() - 1}});
        // The session is destroyed later, because it is in the middle of a call.
        loop_.Post([session = std::shared_ptr<Session>(std::move(*place))] {});
        sessions_.erase(place);
      });
}

}  // namespace tony::driver
