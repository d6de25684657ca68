// Reads a job's history as it stands in its folder, here or in a cluster's file system.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/job_files.h"
#include "backend/job_folder.h"
#include "core/job/job_event.h"

namespace tony::client {

/// Takes the event of line `number`, from 1, or why that line is none (codes of
/// rpc::EventFromJsonLine); returns whether to go on.
using UseEvent = std::function<bool(int number, const absl::StatusOr<core::JobEvent>& event)>;

/// Every whole line of the job's event stream, in order; the ApplicationMaster may be amid the last
/// one, which is left out then. A job without events yet has none. Thread safe.
void ForEachRecordedEvent(const backend::JobFolder& folder, const UseEvent& use);

/// The same of a history in files that never change (backend/archived_events.h), in `folder` of
/// `files`. The codes of backend::JobFiles.
absl::Status ForEachArchivedEvent(backend::JobFiles& files, const std::string& folder,
                                  const UseEvent& use);

}  // namespace tony::client
