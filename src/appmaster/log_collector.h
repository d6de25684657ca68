// Copies the logs of containers on other hosts into the job's folder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "core/model/task_id.h"
#include "history/log_mirror.h"
#include "history/log_receiver.h"
#include "rpc/tunnel/tunnel_end.h"
#include "storage/job_folder.h"

namespace tony::appmaster {

/// For a platform that keeps no logs: what a container has printed would be gone with its folder.
/// Each container's executor sends its logs as they grow, through a tunnel of this process to
/// itself, and they are written as those of a job of this machine. Works on a thread of its own,
/// since the disk may be slow. Thread safe.
class LogCollector {
 public:
  /// Takes a sentence about logs that have not come; called on the collector's thread.
  using Note = std::function<void(const std::string& sentence)>;

  /// `dialer`: of a client of this ApplicationMaster.
  LogCollector(std::string job_id, storage::JobFolder folder, rpc::TunnelDialer dialer, Note note);
  ~LogCollector();
  LogCollector(const LogCollector&) = delete;
  LogCollector& operator=(const LogCollector&) = delete;

  /// The container's executor is attached: copies its logs, if that is not being done.
  void Follow(const core::TaskId& task, const std::string& container);
  /// All executors have gone. `done` is called on the collector's thread, once what they have sent
  /// is on the disk, at the latest after some seconds.
  void AwaitAll(std::function<void()> done);

 private:
  struct Copy {
    history::LogOrigin origin;
    int retries = 0;
    std::unique_ptr<history::LogReceiver> receiver;
    std::unique_ptr<EventLoop::Handle> retry;
  };

  void Open(Copy& copy);
  void SayIncomplete(const Copy& copy, const std::string& why);
  void OnReceived(const std::string& container, const absl::Status& status);
  void EndIfAllCame();

  const std::string job_id_;
  const rpc::TunnelDialer dialer_;
  const Note note_;
  EventLoop loop_;
  history::LogMirror mirror_;
  std::map<std::string, Copy> copies_;  ///< by container; those that are not over
  int notes_ = 0;
  std::function<void()> done_;  ///< set once AwaitAll() was called
  std::unique_ptr<EventLoop::Handle> deadline_;
  std::thread thread_;
};

}  // namespace tony::appmaster
