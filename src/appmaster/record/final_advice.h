// What a job's settings have cost it, in one line for its end.
#pragma once

#include <cstdint>
#include <string>

#include "core/metrics/job_metrics.h"
#include "core/record/verdict.h"
#include "rpc/services/event_log.h"

namespace tony::appmaster {

/// The line; empty: there is nothing to advise, or the job has not run for long enough
/// (core::AdviceGate). `verdict` is the one that the log does not have yet.
std::string FinalAdvice(rpc::EventLog& events, const core::JobMetrics& metrics,
                        const core::Verdict& verdict, int64_t now_millis);

}  // namespace tony::appmaster
