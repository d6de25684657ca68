// One template on gRPC's callback API serves all kinds of streams; `Call` selects the RPC.
#include "rpc/tunnel/tunnel_end.h"

#include <mutex>
#include <utility>

#include "core/model/job_description.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/status_convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/grpc/stream_reactor.h"
#include "rpc/security/grpc_credentials.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

/// The stream of one tunnel end; it has at most one frame to write. `Call`: the stub's method that
/// opens the stream.
template <typename Stub, auto Call>
class Stream : public TunnelEnd, public ClientStream<v1::TunnelFrame, v1::TunnelFrame> {
 public:
  Stream(std::unique_ptr<Stub> stub, Callbacks callbacks)
      : ClientStream(1), stub_(std::move(stub)), callbacks_(std::move(callbacks)) {}
  ~Stream() override { CancelAndWait(); }

  void Start(v1::TunnelFrame first) {
    (stub_->async()->*Call)(&context(), this);
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
    if (held_locked()) WriteLocked(std::move(frame)).IgnoreError();
  }

 private:
  void OnMessage(v1::TunnelFrame frame) override { callbacks_.on_frame(std::move(frame)); }

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

  const std::unique_ptr<Stub> stub_;
  const Callbacks callbacks_;
};

template <typename Service, auto Call>
std::unique_ptr<TunnelEnd> Dial(const std::shared_ptr<grpc::Channel>& channel,
                                v1::TunnelFrame first, TunnelEnd::Callbacks callbacks) {
  auto stream = std::make_unique<Stream<typename Service::Stub, Call>>(Service::NewStub(channel),
                                                                       std::move(callbacks));
  stream->Start(std::move(first));
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
  return Dial<v1::JobService, &v1::JobService::Stub::async::Tunnel>(channel_, std::move(first),
                                                                    std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::OpenLogs(const v1::LogWish& wish,
                                                  TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_logs() = wish;
  return Dial<v1::JobService, &v1::JobService::Stub::async::Tunnel>(channel_, std::move(first),
                                                                    std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::OpenExec(const core::TaskId& task,
                                                  const v1::ExecWish& wish,
                                                  TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_task() = ToProto(task);
  *first.mutable_open()->mutable_exec() = wish;
  return Dial<v1::JobService, &v1::JobService::Stub::async::Tunnel>(channel_, std::move(first),
                                                                    std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::Reach(TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  *first.mutable_open()->mutable_task() = ToProto(core::TaskId{core::kDriverType, 0});
  return Dial<v1::ExecutorService, &v1::ExecutorService::Stub::async::Reach>(
      channel_, std::move(first), std::move(callbacks));
}

std::unique_ptr<TunnelEnd> TunnelDialer::Answer(int64_t tunnel, const absl::Status& refusal,
                                                TunnelEnd::Callbacks callbacks) const {
  v1::TunnelFrame first;
  first.mutable_answer()->set_tunnel(tunnel);
  if (!refusal.ok()) {
    first.mutable_answer()->set_code(refusal.raw_code());
    first.mutable_answer()->set_refusal(ToUtf8(std::string(refusal.message())));
  }
  return Dial<v1::ExecutorService, &v1::ExecutorService::Stub::async::Tunnel>(
      channel_, std::move(first), std::move(callbacks));
}

}  // namespace tony::rpc
