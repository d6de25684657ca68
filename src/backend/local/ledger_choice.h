// Decides in which ledger a job's share of this machine is recorded.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backend/local/ledger.h"
#include "jobfile/job/build_result.h"
#include "storage/job_folder.h"

namespace tony::backend {

/// The ledger of new jobs: that of all users, if its folder exists or the settings demand it, and
/// otherwise the private one in `tony.local.dir`.
Ledger::Options LedgerOfNewJobs(const jobfile::LocalSettings& settings);

/// The ledger of a job. A job keeps its ledger for life, because its executors hold their share
/// there: the choice is recorded in the job's folder, and a later ApplicationMaster follows the
/// record. Errno codes – the choice cannot be recorded.
absl::StatusOr<Ledger::Options> ChooseLedger(const jobfile::LocalSettings& settings,
                                             const storage::JobFolder& folder);

/// The ledger that is recorded in the job's folder; without a record the private one, as the job
/// has not reached the ledger.
Ledger::Options RecordedLedger(const storage::JobFolder& folder);

/// A sentence for the user of a job with the ledger `options`, if the jobs of somebody else on this
/// machine are not seen and nobody has decided that this is so. Empty: nothing to say.
std::string UnseenJobsNote(const jobfile::LocalSettings& settings, const Ledger::Options& options);

/// A sentence for each GPU that a process uses although no job in the ledger holds it: the GPU may
/// be given to the new job nevertheless. Nothing is asked if no GPU is in use.
std::vector<std::string> ForeignGpuNotes(const core::Capacity& capacity,
                                         const Ledger::Options& options);

}  // namespace tony::backend
