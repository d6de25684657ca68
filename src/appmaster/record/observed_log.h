// The job as a person sees it, from the ApplicationMaster's own log of events.
#pragma once

#include <optional>

#include "core/record/observed_job.h"
#include "rpc/services/event_log.h"

namespace tony::appmaster {

/// The job after all events so far; nothing while the past is being read. The events are taken out
/// of the log first, so that nobody waits for it meanwhile. Thread safe.
std::optional<core::ObservedJob> ObserveLog(rpc::EventLog& events);

}  // namespace tony::appmaster
