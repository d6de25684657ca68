// Follows the logs of a job's containers on other machines into a folder of this one.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/job_logs.h"
#include "client/log_mirror.h"
#include "client/log_origins.h"
#include "client/log_receiver.h"
#include "client/master_source.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_event.h"
#include "os/files.h"
#include "os/unique_fd.h"
#include "rpc/job_client.h"

namespace tony::client {

/// Makes the mirror's folder one that LogStream::Follow() can follow as if the job ran here: with
/// its logs as they grow, its events, and the lock that says that it lives. The event that the job
/// has ended is the last thing that is written there, after all of its logs.
///
///   ApplicationMaster ── events ──▶ containers that log ── a tunnel each ──▶ mirror
///
/// What is only at a container's node, since its executor is gone, is copied from there. When the
/// ApplicationMaster is lost the next one is waited for, and each tunnel opened anew.
///
/// Runs on a thread of its own from Start() to its destruction. When the process is told to end
/// (Ctrl-C), it removes the folder before it lets it.
class LiveLogs {
 public:
  struct Options {
    LogSelection selection;
    /// Where the job's ApplicationMasters come from; called on the thread.
    MakeSource make_source;
    /// Copies what is selected of a container from its node, into the mirror; called on the thread.
    std::function<absl::Status(const LogOrigin&)> copy_from_node;
    /// Takes sentences for people; called on the thread.
    std::function<void(const std::string& sentence)> notice;
    Duration retry_pause = std::chrono::seconds(1);  ///< before a tunnel is opened again
    /// How long to try ApplicationMasters that do not answer.
    Duration answer_patience = std::chrono::seconds(60);
  };

  /// `mirror` is used by the thread alone, and outlives this. Errno codes.
  static absl::StatusOr<std::unique_ptr<LiveLogs>> Start(LogMirror& mirror, Options options);
  ~LiveLogs();
  LiveLogs(const LiveLogs&) = delete;
  LiveLogs& operator=(const LiveLogs&) = delete;

 private:
  /// One container's logs.
  struct Copy {
    LogOrigin origin;
    bool ready = false;     ///< its executor has attached
    bool complete = false;  ///< all has come
    bool at_node = false;   ///< what is left is at its node
    int retries = 0;
    std::unique_ptr<LogReceiver> receiver;
    std::unique_ptr<EventLoop::Handle> retry;
  };

  LiveLogs(LogMirror& mirror, Options options, os::AppendFile events, os::UniqueFd lock);
  void Run();
  void OnSignal(int number);
  void OnFound(std::unique_ptr<rpc::JobClient> client);
  void OnAnswer();
  void OnEvent(const core::JobEvent& event);
  void Add(LogOrigin origin);
  void OnStreamClosed(const absl::Status& status);
  void OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why);
  /// The container, once it is ready, by the tunnel that it does not have yet.
  void Open(Copy& copy);
  void OnReceived(Copy& copy, const absl::Status& status);
  void CopyFromNode(Copy& copy);
  void EndIfAllCame();
  /// Notes that the job has ended as told, and that all logs are to be had by now.
  void End();
  void Say(const std::string& sentence);

  LogMirror& mirror_;
  const Options options_;
  const os::AppendFile events_;
  os::UniqueFd lock_;  ///< of the folder, while the job lives
  EventLoop loop_;
  LogOrigins origins_;
  SystemClock clock_;
  std::list<Copy> copies_;
  int64_t last_sequence_ = 0;
  std::string last_line_;                  ///< the event that the job has ended
  int stream_ = 0;                         ///< number of the newest stream of events
  bool connected_ = false;                 ///< that stream is open
  bool over_ = false;                      ///< there will be no other one
  std::optional<TimePoint> silent_since_;  ///< of ApplicationMasters that do not answer
  std::string said_;
  std::unique_ptr<MasterSource> source_;
  std::unique_ptr<rpc::JobClient> client_;
  std::thread thread_;
};

}  // namespace tony::client
