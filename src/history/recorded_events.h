// Reads a job's history as it stands in its folder, here or in a cluster's file system.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "core/record/job_view.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_files.h"
#include "storage/job_folder.h"

namespace tony::history {

/// Histories of earlier versions are full of measurements, of which only each task's last one
/// comes.
using UseEvent = rpc::UseEventLine;

/// Every whole line of the job's event stream, in order; the ApplicationMaster may be amid the last
/// one, which is left out then. A job without events yet has none. Thread safe.
void ForEachRecordedEvent(const storage::JobFolder& folder, const UseEvent& use);

/// The same of a history in files that never change (storage/archived_events.h), in `folder` of
/// `files`. The codes of storage::JobFiles.
absl::Status ForEachArchivedEvent(storage::JobFiles& files, const std::string& folder,
                                  const UseEvent& use);

/// Adds the newest measurements of running tasks, which are no events: `lines` of the file that an
/// ApplicationMaster keeps for them (JobFolder::usage(), storage::kUsageFile).
void AddMeasurements(const std::string& lines, core::JobView& view);

}  // namespace tony::history
