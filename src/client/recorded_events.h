// Reads a job's history as it stands in its folder.
#pragma once

#include <functional>

#include "absl/status/statusor.h"
#include "backend/job_folder.h"
#include "core/job/job_event.h"

namespace tony::client {

/// Takes the event of line `number`, from 1, or why that line is none (codes of
/// rpc::EventFromJsonLine); returns whether to go on.
using UseEvent = std::function<bool(int number, const absl::StatusOr<core::JobEvent>& event)>;

/// Every whole line of the job's event stream, in order; the ApplicationMaster may be amid the last
/// one, which is left out then. A job without events yet has none. Thread safe.
void ForEachRecordedEvent(const backend::JobFolder& folder, const UseEvent& use);

}  // namespace tony::client
