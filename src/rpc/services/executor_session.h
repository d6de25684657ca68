// The executor's end of its single stream to the ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "rpc/security/credentials.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Open from construction until on_closed or destruction. Send() is thread safe. Callbacks come
/// from gRPC's threads, one at a time, and never after the destructor has returned.
class ExecutorSession {
 public:
  /// Limit on the messages that are not written yet. An executor sends about one a second, so it
  /// takes a silent ApplicationMaster for gone long before.
  static constexpr size_t kMostQueued = 4096;

  struct Callbacks {
    std::function<void(v1::MasterMessage)> on_message;
    /// The stream is over; `status` says why. Called exactly once.
    std::function<void(absl::Status)> on_closed;
  };

  ExecutorSession(const std::string& master_address, const Credentials& credentials,
                  Callbacks callbacks);
  /// Breaks the stream if it is open, and waits until gRPC has let go of it.
  ~ExecutorSession();

  /// Queues a message; the message is dropped if the stream is over. One more than kMostQueued
  /// breaks the stream: on_closed follows, with Cancelled.
  void Send(v1::ExecutorMessage message);
  /// Sends the queued messages and then ends the stream; on_closed follows.
  void Close();

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace tony::rpc
