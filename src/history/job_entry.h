// summary.json: a job as one entry in a list of many, so that nobody has to read its whole history.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/record/observed_job.h"

namespace tony::history {

/// What a list of jobs needs of the configuration. Plain data.
struct JobTraits {
  std::string queue;        ///< empty: the backend has none
  std::string tags;         ///< with commas between them
  std::string conf_digest;  ///< equal for jobs with equal configurations
};

/// One job in a list. Plain data. Times are Unix milliseconds; 0: it has not come to that.
struct JobEntry {
  std::string job_id, name, user, queue, framework, backend, tags;
  std::string state;     ///< core::ObservedJob::StateName()
  std::string reason;    ///< core::ReasonName(); empty without a verdict
  std::string sentence;  ///< of the verdict, or why the job is lost or unreadable
  std::string guilty;    ///< "worker:1"; empty: no task is to blame
  int exit_code = -1;    ///< of tony-submit; -1 without a verdict
  int64_t submitted_millis = 0;
  int64_t started_millis = 0;  ///< when all programs of the first attempt had been started
  int64_t ended_millis = 0;    ///< of a lost job: its last sign of life
  int64_t tasks = 0;
  int64_t gpus = 0;       ///< that all tasks together asked for
  int64_t memory_mb = 0;  ///< likewise
  int epochs = 0;         ///< attempts of the whole job
  std::string conf_digest;
  int advice = 0;  ///< pieces of advice from "moderate" on
  int schema_version = 0;
  int64_t events_bytes = 0;  ///< size of the history that this sums up

  bool operator==(const JobEntry&) const = default;
};

/// Longer texts are cut when an entry is made.
inline constexpr size_t kMostEntryText = 2000;
/// A larger file is none of ours.
inline constexpr size_t kMostSummaryBytes = size_t{64} * 1024;

/// The entry of a job; its sentence is the verdict's.
JobEntry EntryOf(const core::ObservedJob& job, const JobTraits& traits);

/// One JSON object in one line, ended by '\n'.
std::string EntryToJson(const JobEntry& entry);
/// Unknown fields are left out, so the summary of a newer version gives what this one knows of it.
/// InvalidArgument – it is no JSON object, or a field is of another type.
absl::StatusOr<JobEntry> EntryFromJson(absl::string_view json);

/// What can be told of a job whose history a newer version has written, from the history's first
/// line. Everything that is not as expected is left out.
JobEntry EntryOfNewer(absl::string_view first_line);

}  // namespace tony::history
