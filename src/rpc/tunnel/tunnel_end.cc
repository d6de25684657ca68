// One template on gRPC's callback API serves all kinds of streams; `Call` selects the RPC.
#include "rpc/tunnel/tunnel_end.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/model/job_description.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/status_convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/security/grpc_credentials.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

/// The stream of one tunnel end. The owner waits for OnDone and destroys the stream itself. gRPC's
/// thread must not do that: it would also destroy the channel, and with it the thread it runs on.
/// mutex_ guards the state. `Call`: the stub's method that opens the stream.
template <typename Stub, auto Call>
class Stream : public TunnelEnd, public grpc::ClientBidiReactor<v1::TunnelFrame, v1::TunnelFrame> {
 public:
  Stream(std::unique_ptr<Stub> stub, v1::TunnelFrame first, Callbacks callbacks)
      : stub_(std::move(stub)), callbacks_(std::move(callbacks)), outgoing_(std::move(first)) {}

  ~Stream() override {
    LetGo();
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

  void Start() {
    (stub_->async()->*Call)(&context_, this);
    // The hold lasts until LetGo(): without it gRPC could end the call between two operations.
    this->AddHold();
    this->StartWrite(&outgoing_);
    this->StartCall();
  }

  void Read() override {
    std::lock_guard lock(mutex_);
    if (held_) this->StartRead(&incoming_);
  }

  void Write(v1::TunnelFrame frame) override {
    std::lock_guard lock(mutex_);
    if (!held_) return;
    outgoing_ = std::move(frame);
    this->StartWrite(&outgoing_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return LetGo();
    callbacks_.on_frame(std::move(incoming_));
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return LetGo();
    callbacks_.on_written();
  }

  void OnDone(const grpc::Status& status) override {
    callbacks_.on_closed(FromGrpc(status));
    std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

 private:
  void LetGo() {
    std::lock_guard lock(mutex_);
    if (std::exchange(held_, false)) this->RemoveHold();
  }

  const std::unique_ptr<Stub> stub_;
  const Callbacks callbacks_;
  grpc::ClientContext context_;
  v1::TunnelFrame incoming_;
  v1::TunnelFrame outgoing_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool held_ = true;
  bool done_ = false;
};

template <typename Service, auto Call>
std::unique_ptr<TunnelEnd> Dial(const std::shared_ptr<grpc::Channel>& channel,
                                v1::TunnelFrame first, TunnelEnd::Callbacks callbacks) {
  auto stream = std::make_unique<Stream<typename Service::Stub, Call>>(
      Service::NewStub(channel), std::move(first), std::move(callbacks));
  stream->Start();
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
