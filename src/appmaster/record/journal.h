// The decisions of a job's ApplicationMasters, in files, for the one that takes over.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "appmaster/record/decision_log.h"
#include "common/clock.h"
#include "core/job/job_decision.h"
#include "storage/job_files.h"
#include "tony/v1/journal.pb.h"

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

  /// Reads what there is in the folder "journal" of `files`, and announces the next incarnation in
  /// it. `boot_id`: of this machine's kernel; empty: not known. DataLoss – a file cannot be
  /// understood; Aborted – another ApplicationMaster does the same at this moment; codes of
  /// JobFiles.
  ///
  /// Deadlines run on across ApplicationMasters, so the age of each entry counts, and a wall clock
  /// that somebody sets must not be what ends a job:
  ///  1. An entry that was made since this machine started has its age by the kernel's monotonic
  ///     clock, which all processes share. That is every entry of a job of one machine.
  ///  2. Of the entries of another machine, or of this one before it started anew, the last one's
  ///     file and that of the announcement are compared: both times are the storage's, one clock
  ///     for all nodes. The entries before it have their distance from it by their own kernel.
  ///  3. Where the storage does not tell, or an entry has no boot id, wall clocks are compared.
  /// Nothing is ever in the future.
  static absl::StatusOr<Journal> Open(std::unique_ptr<storage::JobFiles> files, const Clock& clock,
                                      std::string boot_id);

  /// What earlier ApplicationMasters decided, oldest first. Once.
  std::vector<Past> TakePast() { return std::move(past_); }
  int incarnation() const override { return incarnation_; }
  void Append(const core::Decisions& decisions, OnKept on_kept) override {
    on_kept(Write(decisions));
  }

  /// Returns when the decisions are kept. What cannot be written is kept in memory and written with
  /// the next ones. Aborted – another ApplicationMaster has taken over: nothing may be done any
  /// more; codes of JobFiles.
  absl::Status Write(const core::Decisions& decisions);

 private:
  /// An entry that was read; its decisions are in `past`.
  struct Found {
    std::string name;
    v1::JournalEntry entry;
    Past past;
  };

  Journal(std::unique_ptr<storage::JobFiles> files, const Clock& clock, std::string boot_id)
      : files_(std::move(files)), clock_(&clock), boot_id_(std::move(boot_id)) {}
  absl::StatusOr<std::vector<Found>> Read();
  absl::StatusOr<v1::JournalEntry> ReadEntry(const std::string& name);
  /// How long ago the entry was made, once this ApplicationMaster has announced itself in the file
  /// `announcement`.
  Duration AgeOf(const Found& found, const std::string& announcement);

  std::unique_ptr<storage::JobFiles> files_;
  const Clock* clock_;
  std::string boot_id_;
  std::vector<Past> past_;
  int incarnation_ = 0;
  int next_ = 1;  ///< number of the next file
  core::Decisions unwritten_;
};

}  // namespace tony::appmaster
