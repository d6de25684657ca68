// Keeps the decisions of a job's ApplicationMasters in files, for the one that takes over.
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

/// A write-ahead journal: a folder of small files 00000001.json, 00000002.json, …, each created in
/// one step and never changed. Creating the next file is also the fence: if the file exists
/// already, another ApplicationMaster has taken this one's place. Not thread safe: owned by the
/// event loop.
class Journal : public DecisionLog {
 public:
  /// Decisions that were made at one time.
  struct Past {
    core::Decisions decisions;
    TimePoint at;
  };

  /// Reads the entries in the folder "journal" of `files` and announces the next incarnation with
  /// an entry of its own. `boot_id`: of this machine's kernel; empty: not known. DataLoss – a file
  /// cannot be understood. Aborted – another ApplicationMaster does the same at this moment.
  /// Otherwise the codes of JobFiles.
  ///
  /// Deadlines run on across ApplicationMasters, so each entry's age counts, and setting a wall
  /// clock must not end a job. An entry's age is determined as follows:
  /// 1. For an entry made since this machine booted, the age comes from the kernel's monotonic
  ///    clock, which all processes share. This is the case for every entry of a job on one machine.
  /// 2. For entries of another machine, or of this one before its last boot, the file times of
  ///    the last such entry and of the announcement are compared: both times are the storage's, one
  ///    clock for all nodes. The entries before it have their distance from it by their own
  ///    kernel's clock.
  /// 3. If the storage does not tell the times, or an entry has no boot id, wall clocks are
  ///    compared.
  ///
  /// No age is ever negative.
  static absl::StatusOr<Journal> Open(std::unique_ptr<storage::JobFiles> files, const Clock& clock,
                                      std::string boot_id);

  /// The decisions of earlier ApplicationMasters, oldest first. Call it once.
  std::vector<Past> TakePast() { return std::move(past_); }
  int incarnation() const override { return incarnation_; }
  void Append(const core::Decisions& decisions, OnKept on_kept) override {
    on_kept(Write(decisions));
  }

  /// Writes the decisions and returns when they are kept. Decisions that cannot be written stay in
  /// memory and are written with the next ones. Aborted – another ApplicationMaster has taken over:
  /// nothing may be done any more. Otherwise the codes of JobFiles.
  absl::Status Write(const core::Decisions& decisions);

 private:
  /// An entry that was read; its decisions have been moved to `past`.
  struct Found {
    std::string name;
    v1::JournalEntry entry;
    Past past;
  };

  Journal(std::unique_ptr<storage::JobFiles> files, const Clock& clock, std::string boot_id)
      : files_(std::move(files)), clock_(&clock), boot_id_(std::move(boot_id)) {}
  absl::StatusOr<std::vector<Found>> Read();
  absl::StatusOr<v1::JournalEntry> ReadEntry(const std::string& name);
  /// The entry's age, once this ApplicationMaster has announced itself in the file `announcement`.
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
