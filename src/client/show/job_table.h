// Renders a job for people: table of tasks, summary, and verdict. Pure text from plain data.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/screen.h"
#include "core/record/observed_job.h"

namespace tony::client {

/// The job as several lines, each ended by '\n': headline, tasks (or counts), what is waited for,
/// visualization, logs. `now_millis`: Unix time for durations.
std::string RenderJobTable(const core::ObservedJob& job, int64_t now_millis, const Screen& screen);

/// How the job ended: outcome, reason, sentence, the guilty task's last lines and where the logs
/// are. An empty string without a verdict.
std::string RenderVerdict(const core::JobView& view, const Screen& screen);

/// What is waited for, since when, who is missing and what would unblock it, in one line without
/// '\n'; empty when nothing is.
std::string RenderWaiting(const core::JobView& view, int64_t now_millis);

}  // namespace tony::client
