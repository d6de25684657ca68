// Follows the logs of a job's containers on other machines into a folder of this one.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/follow/master_source.h"
#include "client/remote_logs/log_mirror.h"
#include "client/remote_logs/log_origins.h"
#include "client/remote_logs/log_receiver.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/job_event.h"
#include "history/job_logs.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "rpc/services/job_client.h"

namespace tony::client {

/// Makes the mirror's folder one that LogStream::Follow() can follow as if the job ran here: with
/// its logs as they grow, its events, and the lock that says that it lives. The event that the job
/// has ended is the last thing that is written there, after all of its logs.
///
///   ApplicationMaster ── events ──▶ containers that log ── a tunnel each ──▶ mirror
///
/// What is only at a container's node, since its executor is gone, is copied from there, and at the
/// end from where it was collected if it is not there any more. When the ApplicationMaster is lost
/// the next one is waited for, and each tunnel opened anew. Tunnels that there is no room for are
/// opened later.
///
/// Runs on threads of its own from Start() to its destruction, which waits for the answer of a node
/// that was asked. When the process is told to end (Ctrl-C), it removes the folder before it lets
/// it, whatever is being waited for.
class LiveLogs {
 public:
  struct Options {
    history::LogSelection selection;
    /// Where the job's ApplicationMasters come from; called on the thread.
    MakeSource make_source;
    /// Copies what is selected of a container from its node, into the mirror. May block: called on
    /// a thread for this and the next. An error: not all of it was copied.
    std::function<absl::Status(const LogOrigin&)> copy_from_node;
    /// Copies from where logs of a job that is over are collected, into the mirror; returns those
    /// of the containers of which it was all.
    std::function<std::set<std::string>(const std::vector<LogOrigin>&)> copy_collected;
    /// Takes sentences for people; called on the other thread.
    std::function<void(const std::string& sentence)> notice;
    /// Before a tunnel is opened again; ten times that in the end.
    Duration retry_pause = std::chrono::seconds(1);
    /// How long to try ApplicationMasters that do not answer.
    Duration answer_patience = std::chrono::seconds(60);
  };

  /// `mirror` outlives this. Errno codes.
  static absl::StatusOr<std::unique_ptr<LiveLogs>> Start(LogMirror& mirror, Options options);
  ~LiveLogs();
  LiveLogs(const LiveLogs&) = delete;
  LiveLogs& operator=(const LiveLogs&) = delete;

  /// Once the folder says that it is over: whether all logs have come, to the job's end.
  /// Unavailable – they have not. Thread safe.
  absl::Status result() const;

 private:
  /// One container's logs.
  struct Copy {
    LogOrigin origin;
    bool ready = false;     ///< its executor has attached
    bool complete = false;  ///< all has come
    bool at_node = false;   ///< what is left is at its node, and nowhere else
    bool copying = false;   ///< from there, at the moment
    std::string lacks;      ///< why not all could be copied from there
    int retries = 0;        ///< of this ApplicationMaster's tunnel
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
  void Retry(Copy& copy, const absl::Status& why);
  void CopyFromNode(Copy& copy);
  void OnCopied(Copy& copy, const absl::Status& status);
  void EndIfAllCame();
  /// All logs that can still be had are asked for, at nodes and then where they are collected.
  void CopyRest();
  void CopyCollected();
  void OnCollected(const std::set<std::string>& containers);
  /// Notes that the job has ended as told.
  void End();
  absl::Status MakeResult();
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
  bool lost_ = false;                      ///< what became of the job is not known
  bool ending_ = false;                    ///< all that is left is asked for
  std::optional<TimePoint> silent_since_;  ///< of ApplicationMasters that do not answer
  std::string said_;
  std::unique_ptr<MasterSource> source_;
  std::unique_ptr<rpc::JobClient> client_;
  mutable std::mutex mutex_;  ///< guards result_
  absl::Status result_;
  EventLoop copier_;  ///< of what blocks
  std::thread copier_thread_;
  std::thread thread_;
};

}  // namespace tony::client
