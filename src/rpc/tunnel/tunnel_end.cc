// One class on gRPC's callback API serves all kinds of streams: they differ in the method's name
// only, and their messages are serialized here, so that bytes are not copied for it.
#include "rpc/tunnel/tunnel_end.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/model/job_description.h"
#include "grpcpp/generic/generic_stub.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/status_convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/grpc/stream_reactor.h"
#include "rpc/security/grpc_credentials.h"
#include "rpc/tunnel/tunnel_frame.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

/// The stream of one tunnel end; it has at most one frame to write.
class Stream : public TunnelEnd, public ClientStream<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(const std::shared_ptr<grpc::Channel>& channel, Callbacks callbacks)
      : ClientStream(1), stub_(channel), callbacks_(std::move(callbacks)) {}
  ~Stream() override { CancelAndWait(); }

  void Start(const std::string& method, v1::TunnelFrame first) {
    stub_.PrepareBidiStreamingCall(&context(), method, {}, this);
    Open();
    Write(std::move(first));
  }

  void Read() override {
    std::lock_guard lock(mutex());
    if (held_locked()) ReadNext();
  }

  void Write(v1::TunnelFrame frame) override {
    std::lock_guard lock(mutex());
    // A stream that is over takes nothing, and its user hears of the end by on_closed.
    if (held_locked()) WriteLocked(Serialize(std::move(frame))).IgnoreError();
  }

 private:
  void OnMessage(grpc::ByteBuffer message) override {
    absl::StatusOr<v1::TunnelFrame> frame = ParseFrame(std::move(message));
    if (frame.ok()) return callbacks_.on_frame(*std::move(frame));
    LogWarning("a tunnel is given up", {{"why", frame.status().message()}});
    context().TryCancel();
    OnReadEnd();
  }

  void OnReadEnd() override {
    std::lock_guard lock(mutex());
    LetGoLocked();
  }

  void OnWritten(bool ok, std::unique_lock<std::mutex>& lock) override {
    if (!ok) return LetGoLocked();
    lock.unlock();
    callbacks_.on_written();
  }

  void OnEnd(const grpc::Status& status) override { callbacks_.on_closed(FromGrpc(status)); }

  grpc::GenericStub stub_;
  const Callbacks callbacks_;
};

template <typename Service>
std::unique_ptr<TunnelEnd> Dial(const std::shared_ptr<grpc::Channel>& channel, const char* method,
                                v1::TunnelFrame first, TunnelEnd::Callbacks callbacks) {
  auto stream = std::make_unique<Stream>(channel, std::move(callbacks));
  stream->Start(absl::StrCat("/", Service::service_full_name(), "/", method), std::move(first));
  return stream;
}

}  // namespace

TunnelDialer::TunnelDialer(const std::string& master_address, const Credentials& credentials)
    : channel_(MakeMasterChannel(master_address, credentials)) {}

std::unique_ptr<TunnelEnd> TunnelDialer::Open(const core::TaskId& task, int port,
                                              TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_task() = ToProto(task);
  first.mutable_open()->set_port(port);
  return Dial<v1::JobService>(channel_, "Tunnel", std::move(first), std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::OpenLogs(const v1::LogWish& wish,
                                                  TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_logs() = wish;
  return Dial<v1::JobService>(channel_, "Tunnel", std::move(first), std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::OpenExec(const core::TaskId& task,
                                                  const v1::ExecWish& wish,
                                                  TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_task() = ToProto(task);
  *first.mutable_open()->mutable_exec() = wish;
  return Dial<v1::JobService>(channel_, "Tunnel", std::move(first), std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::Reach(TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_task() = ToProto(core::TaskId{core::kDriverType, 0});
  return Dial<v1::ExecutorService>(channel_, "Reach", std::move(first), std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::Answer(int64_t tunnel, const absl::Status& refusal,
                                                TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  first.mutable_answer()->set_tunnel(tunnel);
  if (!refusal.ok()) {
    first.mutable_answer()->set_code(refusal.raw_code());
    first.mutable_answer()->set_refusal(ToUtf8(std::string(refusal.message())));
  }
  return Dial<v1::ExecutorService>(channel_, "Tunnel", std::move(first), std::move(callbacks));
}

}  // namespace tony::rpc
