// Starts and watches ApplicationMasters as child processes of the client.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/follow/master_process.h"
#include "client/follow/master_source.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/master_restarts.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Starts another ApplicationMaster when one is lost, as core::MasterRestarts allows. Never blocks
/// the loop for long: Ctrl-C is heard also while an ApplicationMaster is being started. Not thread
/// safe: owned by the event loop.
class LocalMasterSource : public MasterSource {
 public:
  struct Options {
    storage::JobFolder folder;
    Duration start_deadline{0};  ///< for an ApplicationMaster's first answer
    Duration exit_deadline{0};   ///< for the process to be gone after its last event
    int restarts = 0;            ///< how often a lost ApplicationMaster is replaced
    uint64_t open_files = 0;     ///< see MasterProcess
    std::vector<int> lock_fds;   ///< see MasterProcess
    std::vector<int> page_fds;   ///< see MasterProcess
    int launcher_fd = -1;        ///< see MasterProcess
    std::string launcher_host;   ///< see MasterProcess
  };

  /// `loop` and `clock` outlive this. `master` was just started.
  LocalMasterSource(EventLoop& loop, const Clock& clock, Options options, MasterProcess master);

  void Start(Callbacks callbacks) override;
  void OnAnswer() override { heard_ = true; }
  void OnNoAnswer() override;
  void OnConcluded() override;
  void OnStreamClosed(const absl::Status& why) override;
  void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) override;
  absl::Status ReadEvents(const history::UseEvent& use) override;
  std::string AfterLeaving() const override;

 private:
  void Watch();
  void Connect();
  void OnMasterOver();
  /// Called when the process is gone but its stream has not ended in time.
  void OnStreamOverdue();
  void AwaitExit();
  void GoOn();
  void Restart();
  /// Called when the process that is being started is ready, or has ended before that.
  void OnStarted();
  void OnStartOverdue();
  void OnStartFailed(const absl::Status& why);
  /// Reports that there is no ApplicationMaster and none will follow; `more`, which may be empty,
  /// says why.
  void End(const std::string& more = "");

  EventLoop& loop_;
  const Clock& clock_;
  const Options options_;
  MasterProcess master_;
  TimePoint started_at_;  ///< start of master_, or of the process that could not be started
  std::optional<os::ExitStatus> end_;  ///< how master_ ended; nullopt: it runs, or it is told
  std::string predecessor_;            ///< how the last ApplicationMaster ended, as a sentence
  std::optional<MasterStart> start_;   ///< the next ApplicationMaster, not ready yet
  core::MasterRestarts restarts_;
  Callbacks callbacks_;
  bool stream_over_ = false;
  bool master_over_ = false;
  bool concluded_ = false;
  bool killed_ = false;  ///< killed, because it had not ended in time
  bool heard_ = false;   ///< an ApplicationMaster has answered, so gRPC has threads
  bool ended_ = false;   ///< End() was called
  std::unique_ptr<EventLoop::Handle> connect_;
  std::unique_ptr<EventLoop::Handle> master_watch_;
  std::unique_ptr<EventLoop::Handle> start_watch_;
  std::unique_ptr<EventLoop::Handle> start_deadline_;
  std::unique_ptr<EventLoop::Handle> exit_deadline_;
  std::unique_ptr<EventLoop::Handle> stream_deadline_;
  std::unique_ptr<EventLoop::Handle> restart_;
};

}  // namespace tony::client
