// The base of our streams on gRPC's callback API: their writes, their end and their lifetime.
//
//                     StreamReactor   a bounded queue of messages, of which gRPC has one at a time
//                      ▲         ▲
//           ServerStream         ClientStream
//   finishes its call once       holds its call until it is let go
//   deletes itself               its owner waits for gRPC and destroys it
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "grpcpp/support/status.h"

namespace tony::rpc {

/// Writes the messages of one stream, in their order. gRPC takes one write at a time, so the others
/// wait. `Reactor`: a reactor of gRPC's that writes. `Entry`: its message, or a shared_ptr to a
/// constant one. Not thread safe: the derived class has a mutex, which its caller holds.
template <typename Reactor, typename Entry>
class StreamReactor : public Reactor {
 protected:
  /// `most_queued`: limit on the messages that are not written yet, including the one that gRPC
  /// has.
  explicit StreamReactor(size_t most_queued) : most_queued_(most_queued) {}

  /// Writes the message when those before it are written. ResourceExhausted – too many are waiting.
  /// FailedPrecondition – nothing is written any more: the stream ends, or a write has failed. In
  /// both cases the message is dropped.
  absl::Status WriteLocked(Entry entry) {
    if (stopped_) return absl::FailedPreconditionError("the stream takes no more messages");
    if (queue_.size() >= most_queued_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the other side does not read: ", queue_.size(), " messages wait for it"));
    }
    queue_.push_back(std::move(entry));
    WriteNextLocked();
    return absl::OkStatus();
  }

  /// Takes back the message that gRPC had, and writes the next one. `ok`: it was written. After a
  /// failed write no other one can succeed, so all that wait are dropped.
  Entry EndWriteLocked(bool ok) {
    writing_ = false;
    Entry written = std::move(queue_.front());
    queue_.pop_front();
    if (!ok) StopWritesLocked();
    WriteNextLocked();
    return written;
  }

  /// Drops what waits and all that is still to come. gRPC keeps the message that it has.
  void StopWritesLocked() {
    stopped_ = true;
    queue_.erase(queue_.begin() + (writing_ ? 1 : 0), queue_.end());
  }

  /// Whether gRPC has a message. It also has one whenever others wait.
  bool writing_locked() const { return writing_; }

 private:
  template <typename Message>
  static const Message* MessageOf(const Message& message) {
    return &message;
  }
  template <typename Message>
  static const Message* MessageOf(const std::shared_ptr<const Message>& message) {
    return message.get();
  }

  void WriteNextLocked() {
    if (writing_ || queue_.empty()) return;
    writing_ = true;
    // A deque leaves its elements in place while others are added behind them.
    this->StartWrite(MessageOf(queue_.front()));
  }

  const size_t most_queued_;
  std::deque<Entry> queue_;  ///< the first one is gRPC's while `writing_`
  bool writing_ = false;
  bool stopped_ = false;
};

/// One call of a service, which has to be created with `new`: it deletes itself when gRPC is done
/// with it, and that needs FinishLocked(). gRPC's threads call the functions On…(). The mutex,
/// which is the one of the derived class's service, guards the state; whoever calls a function
/// …Locked() holds it, and the other ones take it.
template <typename Reactor, typename Entry>
class ServerStream : public StreamReactor<Reactor, Entry> {
 public:
  void OnWriteDone(bool ok) final {
    std::unique_lock lock(mutex_);
    const Entry written = this->EndWriteLocked(ok);
    if (finished_) return this->Finish(status_);
    OnWritten(ok, written, lock);
  }

  void OnDone() final {
    {
      std::lock_guard lock(mutex_);
      OnDoneLocked();
    }
    delete this;
  }

 protected:
  /// `mutex` must outlive the server.
  ServerStream(std::mutex& mutex, size_t most_queued)
      : StreamReactor<Reactor, Entry>(most_queued), mutex_(mutex) {}
  ~ServerStream() override = default;

  /// Ends the call with `status`, after the message that gRPC has; those that wait are dropped.
  /// False: it had ended before, and `status` is ignored.
  bool FinishLocked(const grpc::Status& status) {
    if (std::exchange(finished_, true)) return false;
    this->StopWritesLocked();
    status_ = status;
    if (!this->writing_locked()) this->Finish(status_);
    return true;
  }

  /// Whether FinishLocked() was called.
  bool finished_locked() const { return finished_; }

 private:
  /// gRPC has let go of the message `written`; `ok`: it was written. Not called once the call has
  /// ended. `lock` holds the mutex, and may be released.
  virtual void OnWritten(bool /*ok*/, const Entry& /*written*/,
                         std::unique_lock<std::mutex>& /*lock*/) {}
  /// The last call before the destructor.
  virtual void OnDoneLocked() {}

  std::mutex& mutex_;
  bool finished_ = false;
  grpc::Status status_;  ///< of a call that ends when its last write is done
};

/// A client's end of a stream that both sides write. Its owner destroys it, after CancelAndWait().
/// gRPC's thread must not do that: it would also destroy the channel, and with it the thread it
/// runs on. gRPC's threads call the functions On…(). mutex() guards the state; whoever calls a
/// function …Locked() holds it, and must not hold it for the other ones.
template <typename Outgoing, typename Incoming>
class ClientStream : public StreamReactor<grpc::ClientBidiReactor<Outgoing, Incoming>, Outgoing> {
 public:
  /// Breaks the stream if it is open, and waits until gRPC has let go of it; no callback comes
  /// after that.
  void CancelAndWait() {
    {
      std::lock_guard lock(mutex_);
      LetGoLocked();
    }
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

  void OnReadDone(bool ok) final {
    if (!ok) {
      // Either the other side is done, and nothing more can be sent; or a message could not be
      // read. In the second case the stream ends only after one more read has been started.
      OnReadEnd();
      if (!std::exchange(read_failed_, true)) this->StartRead(&incoming_);
      return;
    }
    if (read_failed_) {
      LogWarning("a message of the ApplicationMaster cannot be read: the stream is given up");
      context_.TryCancel();
      return;
    }
    // A ByteBuffer is not moved from: it would stay here until the next message.
    OnMessage(std::exchange(incoming_, Incoming()));
  }

  void OnWriteDone(bool ok) final {
    std::unique_lock lock(mutex_);
    this->EndWriteLocked(ok);
    OnWritten(ok, lock);
  }

  void OnDone(const grpc::Status& status) final {
    OnEnd(status);
    std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

 protected:
  using StreamReactor<grpc::ClientBidiReactor<Outgoing, Incoming>, Outgoing>::StreamReactor;
  ~ClientStream() override = default;

  /// Starts the call, which the stub has joined with context() and this reactor.
  void Open() {
    // Without the hold gRPC could end the call between two operations.
    this->AddHold();
    this->StartCall();
  }

  /// Asks for the next message, which OnMessage() receives. Must not be called again before that,
  /// nor after LetGoLocked().
  void ReadNext() { this->StartRead(&incoming_); }

  /// Lets gRPC end the call as soon as the other side has, and the writes that have begun.
  void LetGoLocked() {
    if (std::exchange(held_, false)) this->RemoveHold();
  }

  bool held_locked() const { return held_; }
  std::mutex& mutex() { return mutex_; }
  grpc::ClientContext& context() { return context_; }

 private:
  /// A message has arrived; the mutex is not held.
  virtual void OnMessage(Incoming message) = 0;
  /// Nothing more can be read. May come twice; the mutex is not held.
  virtual void OnReadEnd() = 0;
  /// gRPC has let go of a message; `ok`: it was written. `lock` holds the mutex, and may be
  /// released.
  virtual void OnWritten(bool ok, std::unique_lock<std::mutex>& lock) = 0;
  /// The call is over. Called once, as the last callback; the mutex is not held.
  virtual void OnEnd(const grpc::Status& status) = 0;

  grpc::ClientContext context_;
  Incoming incoming_;
  bool read_failed_ = false;  ///< used by the callbacks of reads only
  std::mutex mutex_;
  std::condition_variable ended_;
  bool held_ = true;
  bool done_ = false;
};

}  // namespace tony::rpc
