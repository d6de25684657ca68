// A reactor on gRPC's callback API. Sends are queued, because gRPC takes one write at a time.
#include "rpc/services/executor_session.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "common/logging.h"
#include "rpc/convert/status_convert.h"
#include "rpc/security/grpc_credentials.h"

namespace tony::rpc {

/// mutex_ guards the state. The owner waits for OnDone and destroys the stream itself. gRPC's
/// thread must not do that: it would also destroy the channel, and with it the thread it runs on.
class ExecutorSession::Stream
    : public grpc::ClientBidiReactor<v1::ExecutorMessage, v1::MasterMessage> {
 public:
  Stream(std::shared_ptr<grpc::Channel> channel, Callbacks callbacks)
      : stub_(v1::ExecutorService::NewStub(std::move(channel))), callbacks_(std::move(callbacks)) {}

  void Start() {
    stub_->async()->Attach(&context_, this);
    // The hold lasts until Close(): without it gRPC could end the call between two writes.
    AddHold();
    StartRead(&incoming_);
    StartCall();
  }

  void Send(v1::ExecutorMessage message) {
    std::lock_guard lock(mutex_);
    if (closing_ || done_) {
      return LogDebug("a message is not sent: the stream is closed",
                      {{"kind", static_cast<int>(message.body_case())}});
    }
    outgoing_.push_back(std::move(message));
    WriteNextLocked();
  }

  void Close() {
    std::lock_guard lock(mutex_);
    if (closing_) return;
    closing_ = true;
    WriteNextLocked();
    RemoveHold();
  }

  void CancelAndWait() {
    Close();
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      // Either the other side is done, and nothing more can be sent; or a message could not be
      // read. In the second case the stream ends only after one more read has been started.
      Close();
      if (!std::exchange(read_failed_, true)) StartRead(&incoming_);
      return;
    }
    if (read_failed_) {
      LogWarning("a message of the ApplicationMaster cannot be read: the stream is given up");
      context_.TryCancel();
      return;
    }
    callbacks_.on_message(std::move(incoming_));
    incoming_.Clear();
    StartRead(&incoming_);
  }

  void OnWriteDone(bool ok) override {
    std::lock_guard lock(mutex_);
    writing_ = false;
    outgoing_.pop_front();
    if (ok) WriteNextLocked();
  }

  void OnDone(const grpc::Status& status) override {
    callbacks_.on_closed(FromGrpc(status));
    std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

 private:
  void WriteNextLocked() {
    if (writing_ || done_) return;
    if (!outgoing_.empty()) {
      writing_ = true;
      StartWrite(&outgoing_.front());
    } else if (closing_ && !writes_done_) {
      writes_done_ = true;
      StartWritesDone();
    }
  }

  std::unique_ptr<v1::ExecutorService::Stub> stub_;
  const Callbacks callbacks_;
  grpc::ClientContext context_;
  v1::MasterMessage incoming_;
  bool read_failed_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<v1::ExecutorMessage> outgoing_;
  bool writing_ = false;
  bool closing_ = false;
  bool writes_done_ = false;
  bool done_ = false;
};

ExecutorSession::ExecutorSession(const std::string& master_address, const Credentials& credentials,
                                 Callbacks callbacks)
    : stream_(std::make_unique<Stream>(MakeMasterChannel(master_address, credentials),
                                       std::move(callbacks))) {
  stream_->Start();
}

ExecutorSession::~ExecutorSession() { stream_->CancelAndWait(); }

void ExecutorSession::Send(v1::ExecutorMessage message) { stream_->Send(std::move(message)); }

void ExecutorSession::Close() { stream_->Close(); }

}  // namespace tony::rpc
