// The endpoint through which the task is fed, if the job wants that.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "executor/feed/socket_folder.h"
#include "feed/endpoint_thread.h"
#include "rpc/security/credentials.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// Opens the endpoint with the assignment, and carries messages between it and the
/// ApplicationMaster. A task that is not fed has none; all calls then do nothing. Not thread safe:
/// owned by the event loop.
class TaskFeed {
 public:
  /// `loop` must outlive this. `send`: to the ApplicationMaster.
  TaskFeed(EventLoop& loop, rpc::Credentials credentials,
           std::function<void(v1::ExecutorMessage)> send);
  /// Closes the endpoint and removes its folder.
  ~TaskFeed();

  /// Opens the endpoint, unless the assignment says nothing of a feed or it is open. Errno codes;
  /// the codes of feed::EndpointThread::Start().
  /// `master_address`: of the ApplicationMaster. If that is on 127.0.0.1, producers are, too.
  absl::Status Open(const v1::Assignment& assignment, const std::string& working_folder,
                    const std::string& master_address);
  /// Path of the socket for the program; empty if the task is not fed.
  std::string program_path() const;

  void OnProgramStarted();
  /// `how`: how the program ended, as a sentence continues: "exited with code 1".
  void OnProgramEnded(const std::string& how);
  /// A new stream is opened. Nothing is sent on it before all that the endpoint holds.
  void OnNewStream() { reported_ = false; }
  /// The ApplicationMaster at the other end of the stream knows this executor.
  void OnAttached();
  void OnOrder(const v1::FeedOrder& order);

 private:
  void Report(const core::FeedReport& report);

  EventLoop& loop_;
  const rpc::Credentials credentials_;
  const std::function<void(v1::ExecutorMessage)> send_;
  std::string task_;
  bool reported_ = false;  ///< all that the endpoint holds was sent on this stream
  SocketFolder folder_;    ///< outlives the endpoint, whose sockets lie in it
  Lifetime lifetime_;
  std::unique_ptr<feed::EndpointThread> endpoint_;
};

}  // namespace tony::executor
