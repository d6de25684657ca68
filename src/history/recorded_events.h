// Reads a job's history from its folder, on this machine or in a cluster's file system.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/record/job_view.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_files.h"
#include "storage/job_folder.h"

namespace tony::history {

/// Takes each event. Histories of earlier versions are full of measurements; of these, only the
/// last one of each task comes.
using UseEvent = rpc::UseEventLine;

/// Calls `use` for every whole line of the job's event stream, in order. An incomplete last line,
/// which the ApplicationMaster may be writing, is left out. A job without events yet has none.
/// Thread safe.
void ForEachRecordedEvent(const storage::JobFolder& folder, const UseEvent& use);

/// Calls `use` for every line of a history in files that never change (storage/archived_events.h),
/// in `folder` of `files`. The codes of storage::JobFiles.
absl::Status ForEachArchivedEvent(storage::JobFiles& files, const std::string& folder,
                                  const UseEvent& use);

/// Adds the newest measurements of running tasks, which are no events, to `view`. `lines`: contents
/// of the file that an ApplicationMaster keeps for them (JobFolder::usage(), storage::kUsageFile).
void AddMeasurements(const std::string& lines, core::JobView& view);

}  // namespace tony::history
