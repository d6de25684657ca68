// Follows the logs of a job's containers on other machines into a folder on this machine.
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
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/job_event.h"
#include "history/job_logs.h"
#include "history/log_mirror.h"
#include "history/log_receiver.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "rpc/services/job_client.h"
#include "yarnlogs/log_origins.h"

namespace tony::client {

/// Fills the mirror's folder so that LogStream::Follow() can follow it as if the job ran here: with
/// the logs as they grow, the job's events, and the lock that marks the job as alive. The JobEnded
/// event is written last, after all of the job's logs.
///
///   ApplicationMaster ── events ──▶ containers that log ── a tunnel each ──▶ mirror
///
/// A log whose executor is gone is copied from the container's node; at the job's end, a log that
/// the node does not have any more is copied from where YARN collected it. When the
/// ApplicationMaster is lost, LiveLogs waits for the next one and opens each tunnel again. A tunnel
/// that is refused for lack of room is opened later.
///
/// LiveLogs runs on threads of its own from Start() to its destruction. The destructor waits for
/// the answer of a node that was asked. With `handles_signals`, LiveLogs removes the folder on
/// SIGINT (Ctrl-C), SIGTERM and SIGHUP, and then lets the signal end the process, whatever is being
/// waited for.
class LiveLogs {
 public:
  struct Options {
    history::LogSelection selection;
    bool handles_signals = true;
    /// Makes the source of the job's ApplicationMasters; called on LiveLogs' thread.
    MakeSource make_source;
    /// Copies the selected logs of a container from its node into the mirror. May block: this
    /// function and copy_collected are called on a thread of their own. An error: not all of it was
    /// copied.
    std::function<absl::Status(const history::LogOrigin&)> copy_from_node;
    /// Copies logs of a job that is over from where they are collected, into the mirror. Returns
    /// the containers whose logs were copied whole.
    std::function<std::set<std::string>(const std::vector<history::LogOrigin>&)> copy_collected;
    /// Takes sentences for people; called on the event loop's thread.
    std::function<void(const std::string& sentence)> notice;
    /// Pause before a tunnel is opened again; grows with each retry, up to ten times this.
    Duration retry_pause = std::chrono::seconds(1);
    /// How long ApplicationMasters that do not answer are tried.
    Duration answer_patience = std::chrono::seconds(60);
  };

  /// Starts the threads. `mirror` outlives this. Errno codes.
  static absl::StatusOr<std::unique_ptr<LiveLogs>> Start(history::LogMirror& mirror,
                                                         Options options);
  ~LiveLogs();
  LiveLogs(const LiveLogs&) = delete;
  LiveLogs& operator=(const LiveLogs&) = delete;

  /// To be asked once the folder says that the job is over. OK – all logs have come, up to the
  /// job's end. Unavailable – not all have come. Thread safe.
  absl::Status result() const;

 private:
  /// The state of one container's logs.
  struct Copy {
    history::LogOrigin origin;
    bool ready = false;     ///< the container's executor has attached
    bool complete = false;  ///< all logs have come
    bool at_node = false;   ///< the rest of the logs is at the container's node, and nowhere else
    bool copying = false;   ///< a copy from the node is under way
    std::string lacks;      ///< why the copy from the node is incomplete
    int retries = 0;        ///< tunnels opened again with this ApplicationMaster
    std::unique_ptr<history::LogReceiver> receiver;
    std::unique_ptr<EventLoop::Handle> retry;
  };

  LiveLogs(history::LogMirror& mirror, Options options, os::AppendFile events, os::UniqueFd lock);
  void Run();
  void OnSignal(int number);
  void OnFound(std::unique_ptr<rpc::JobClient> client);
  void OnAnswer();
  void OnEvent(const core::JobEvent& event);
  void Add(history::LogOrigin origin);
  void OnStreamClosed(const absl::Status& status);
  void OnOver(const std::optional<core::Verdict>& verdict, const absl::Status& why);
  /// Opens the container's tunnel, unless it has one or is not ready.
  void Open(Copy& copy);
  void OnReceived(Copy& copy, const absl::Status& status);
  void Retry(Copy& copy, const absl::Status& why);
  void CopyFromNode(Copy& copy);
  void OnCopied(Copy& copy, const absl::Status& status);
  void EndIfAllCame();
  /// Asks for all logs that can still be had: from the nodes, then from where they are collected.
  void CopyRest();
  void CopyCollected();
  void OnCollected(const std::set<std::string>& containers);
  /// Stores the result, writes the JobEnded event and stops the loop.
  void End();
  absl::Status MakeResult();
  void PrintOnce(const std::string& sentence);

  history::LogMirror& mirror_;
  const Options options_;
  const os::AppendFile events_;
  os::UniqueFd lock_;  ///< am_lock() of the folder, held while the job lives
  EventLoop loop_;
  yarnlogs::LogOrigins origins_;
  SystemClock clock_;
  std::list<Copy> copies_;
  int64_t last_sequence_ = 0;
  std::string last_line_;   ///< the JobEnded event as a line of JSON; empty: it has not come
  int stream_ = 0;          ///< number of the newest stream of events
  bool connected_ = false;  ///< the newest stream is open
  bool over_ = false;       ///< no other stream will follow
  bool lost_ = false;       ///< how the job ended is not known
  bool ending_ = false;     ///< the rest of the logs was asked for
  std::optional<TimePoint> silent_since_;  ///< since when ApplicationMasters have not answered
  std::string last_notice_;
  std::unique_ptr<MasterSource> source_;
  std::unique_ptr<rpc::JobClient> client_;
  mutable std::mutex mutex_;  ///< guards result_
  absl::Status result_;
  EventLoop copier_;  ///< runs the blocking copies
  std::thread copier_thread_;
  std::thread thread_;
};

}  // namespace tony::client
