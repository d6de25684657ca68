// ApplicationMasters as children of the client, on this machine.
#pragma once

#include <memory>
#include <string>

#include "backend/job_folder.h"
#include "client/master_process.h"
#include "client/master_source.h"
#include "common/event_loop.h"

namespace tony::client {

/// Starts another one when one is lost. Not thread safe: owned by the event loop.
class LocalMasterSource : public MasterSource {
 public:
  struct Options {
    backend::JobFolder folder;
    Duration start_deadline{0};  ///< for an ApplicationMaster's first answer
    Duration exit_deadline{0};   ///< for it to be gone after its last word
    int restarts = 0;            ///< how often one that was lost is replaced
    uint64_t open_files = 0;     ///< see MasterProcess
  };

  /// `loop` outlives this.
  LocalMasterSource(EventLoop& loop, Options options, MasterProcess master);

  void Start(Callbacks callbacks) override;
  void OnAnswer() override {}
  void OnNoAnswer() override;
  void OnConcluded() override;
  void OnStreamClosed(const absl::Status& why) override;
  void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) override;
  absl::Status ReadEvents(const UseEvent& use) override;
  std::string AfterLeaving() const override;

 private:
  void Watch();
  void Connect();
  void AwaitExit();
  void GoOn();
  void Restart();
  void End();

  EventLoop& loop_;
  const Options options_;
  MasterProcess master_;
  Callbacks callbacks_;
  bool stream_over_ = false;
  bool master_over_ = false;
  bool concluded_ = false;
  bool killed_ = false;  ///< for not having ended in time
  int restarts_ = 0;
  std::unique_ptr<EventLoop::Handle> connect_;
  std::unique_ptr<EventLoop::Handle> master_watch_;
  std::unique_ptr<EventLoop::Handle> exit_deadline_;
  std::unique_ptr<EventLoop::Handle> restart_;
};

}  // namespace tony::client
