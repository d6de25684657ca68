// A job as a page of HTML.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/task_id.h"
#include "core/record/observed_job.h"

namespace tony::web {

/// Seconds after which the browser asks for the page of a living job again.
inline constexpr int kRefreshSeconds = 5;
/// Rows of the table of tasks; failed ones come first when not all fit.
inline constexpr size_t kMostTaskRows = 1000;

/// The whole page: no script, links relative to it (StyleLink(), LogLink()), but for the one to
/// what the job itself serves. `now_millis`: since 1970. Thread safe.
std::string RenderJobPage(const core::ObservedJob& job, int64_t now_millis);

/// "style.css"
std::string StyleLink();
/// What StyleLink() leads to.
std::string Style();
/// "logs/worker-0/attempt-1/stdout"
std::string LogLink(const core::TaskId& task, int attempt, const std::string& stream);

}  // namespace tony::web
