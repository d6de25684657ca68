// Renders a job as an HTML page.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/task_id.h"
#include "core/record/observed_job.h"

namespace tony::web {

/// Interval in seconds at which the browser reloads the page of a living job.
inline constexpr int kRefreshSeconds = 5;
/// Upper bound of the rows in the table of tasks; if not all fit, failed ones come first.
inline constexpr size_t kMostTaskRows = 1000;

/// Returns the whole page for browsers without scripts; with them, PageScript() takes its place.
/// Its links are relative, except the one to what the job itself serves. `now_millis`: Unix time.
/// `has_gate`: kProgramLink leads to what the job itself serves. Thread safe.
std::string RenderJobPage(const core::ObservedJob& job, int64_t now_millis, bool has_gate = false);

/// The link below the page that leads to the job's TensorBoard, or what else it serves.
inline constexpr char kProgramLink[] = "visualization";

/// "logs/worker-0/attempt-1/stdout".
std::string LogLink(const core::TaskId& task, int attempt, const std::string& stream);

}  // namespace tony::web
