// Sends are queued, because gRPC takes one write at a time; Close() lets the queue run empty first.
#include "rpc/services/executor_session.h"

#include <mutex>
#include <utility>

#include "common/logging.h"
#include "rpc/convert/status_convert.h"
#include "rpc/grpc/stream_reactor.h"
#include "rpc/security/grpc_credentials.h"

namespace tony::rpc {

/// mutex() guards the state.
class ExecutorSession::Stream : public ClientStream<v1::ExecutorMessage, v1::MasterMessage> {
 public:
  Stream(std::shared_ptr<grpc::Channel> channel, Callbacks callbacks)
      : ClientStream(kMostQueued),
        stub_(v1::ExecutorService::NewStub(std::move(channel))),
        callbacks_(std::move(callbacks)) {}

  void Start() {
    stub_->async()->Attach(&context(), this);
    Open();
    ReadNext();
  }

  void Send(v1::ExecutorMessage message) {
    const int kind = message.body_case();
    absl::Status queued = absl::FailedPreconditionError("the stream is closed");
    {
      std::lock_guard lock(mutex());
      if (!closing_) queued = WriteLocked(std::move(message));
    }
    if (queued.ok()) return;
    LogDebug("a message is not sent", {{"kind", kind}, {"why", queued.message()}});
    // The executor attaches again, and its Hello says what was dropped.
    if (absl::IsResourceExhausted(queued)) context().TryCancel();
  }

  void Close() {
    std::lock_guard lock(mutex());
    if (std::exchange(closing_, true)) return;
    EndWritesLocked();
    LetGoLocked();
  }

 private:
  void OnMessage(v1::MasterMessage message) override {
    callbacks_.on_message(std::move(message));
    ReadNext();
  }

  void OnReadEnd() override { Close(); }

  void OnWritten(bool /*ok*/, std::unique_lock<std::mutex>& /*lock*/) override {
    if (closing_) EndWritesLocked();
  }

  void OnEnd(const grpc::Status& status) override { callbacks_.on_closed(FromGrpc(status)); }

  /// Tells the other side that nothing more comes, once everything is written.
  void EndWritesLocked() {
    if (!writing_locked() && !std::exchange(writes_done_, true)) StartWritesDone();
  }

  const std::unique_ptr<v1::ExecutorService::Stub> stub_;
  const Callbacks callbacks_;
  bool closing_ = false;
  bool writes_done_ = false;
};

ExecutorSession::ExecutorSession(const std::string& master_address, const Credentials& credentials,
                                 Callbacks callbacks)
    : stream_(std::make_unique<Stream>(MakeMasterChannel(master_address, credentials),
                                       std::move(callbacks))) {
  stream_->Start();
}

ExecutorSession::~ExecutorSession() {
  stream_->Close();
  stream_->CancelAndWait();
}

void ExecutorSession::Send(v1::ExecutorMessage message) { stream_->Send(std::move(message)); }

void ExecutorSession::Close() { stream_->Close(); }

}  // namespace tony::rpc
