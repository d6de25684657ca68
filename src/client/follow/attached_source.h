// Finds the ApplicationMasters of a job that another process keeps alive, for a client that joins.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client/catalog/job_catalog.h"
#include "client/follow/master_source.h"
#include "common/event_loop.h"

namespace tony::client {

/// Asks the catalog again after each lost ApplicationMaster, until there is another one or the job
/// is over. Starts and stops nothing. Not thread safe: owned by the event loop, which each question
/// blocks: for a moment on this machine, for the answer of a cluster at most.
class AttachedSource : public MasterSource {
 public:
  /// `loop` and `jobs` outlive this. `job` runs.
  AttachedSource(EventLoop& loop, JobCatalog& jobs, StoredJob job);

  void Start(Callbacks callbacks) override;
  void OnAnswer() override { missed_ = false; }
  void OnNoAnswer() override;
  void OnConcluded() override { concluded_ = true; }
  void OnStreamClosed(const absl::Status& why) override;
  /// Through the catalog, which may block as long as it takes to ask.
  void Abandon(const std::string& sentence, std::function<void(absl::Status)> done) override;
  absl::Status ReadEvents(const history::UseEvent& use) override;
  std::string AfterLeaving() const override { return "the job goes on"; }

 private:
  void Connect();
  /// Waits a little for the processes of a job that has concluded.
  void AwaitTidy();
  /// Tells the user once for each loss, and looks again after a pause.
  void Miss(const absl::Status& why);
  /// Reads the job again: it is over, or the next ApplicationMaster is to be connected to.
  void Look();
  void End(const std::optional<core::Verdict>& verdict, const absl::Status& why);

  EventLoop& loop_;
  JobCatalog& jobs_;
  StoredJob job_;
  Callbacks callbacks_;
  bool concluded_ = false;
  int tidy_looks_ = 0;
  bool missed_ = false;  ///< the user knows that there is no ApplicationMaster at the moment
  std::unique_ptr<EventLoop::Handle> next_;
};

}  // namespace tony::client
