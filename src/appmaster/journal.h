// The decisions of a job's ApplicationMasters, on disk, for the one that takes over.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "appmaster/decision_log.h"
#include "common/clock.h"
#include "core/job/job_decision.h"

namespace tony::appmaster {

/// A folder of small files, 00000001.json, 00000002.json, …, each made in one step and never
/// changed. Making the next one is also what tells an ApplicationMaster that another has taken its
/// place: then that file is there already. Not thread safe: owned by the event loop.
class Journal : public DecisionLog {
 public:
  /// What was decided at one time.
  struct Past {
    core::Decisions decisions;
    TimePoint at;
  };

  /// Reads what there is in `folder` (made when missing), and announces the next incarnation in it.
  /// DataLoss – a file is missing or cannot be understood; Aborted – another ApplicationMaster does
  /// the same at this moment; errno codes.
  static absl::StatusOr<Journal> Open(const std::string& folder, const Clock& clock);

  /// What earlier ApplicationMasters decided, oldest first. Once.
  std::vector<Past> TakePast() { return std::move(past_); }
  int incarnation() const override { return incarnation_; }
  void Append(const core::Decisions& decisions, OnKept on_kept) override {
    on_kept(Write(decisions));
  }

  /// Returns when the decisions are kept. What cannot be written is kept in memory and written with
  /// the next ones. Aborted – another ApplicationMaster has taken over: nothing may be done any
  /// more; errno codes.
  absl::Status Write(const core::Decisions& decisions);

 private:
  Journal(std::string folder, const Clock& clock) : folder_(std::move(folder)), clock_(&clock) {}
  absl::Status Read();
  std::string PathOf(int number) const;

  std::string folder_;
  const Clock* clock_;
  std::vector<Past> past_;
  int incarnation_ = 0;
  int next_ = 1;  ///< number of the next file
  core::Decisions unwritten_;
};

}  // namespace tony::appmaster
