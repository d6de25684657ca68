// Parts of a job as JSON, in the one form that `tony status --json` and the job's API share.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/record/json_values.h"
#include "core/record/observed_job.h"

namespace tony::core {

/// How a task's program ended.
nlohmann::ordered_json ExitJson(const TaskExit& exit);
/// How the job ended, with the exit code of tony-submit.
nlohmann::ordered_json VerdictJson(const Verdict& verdict);
/// One of the job's earlier attempts.
nlohmann::ordered_json AttemptJson(const JobView::Attempt& attempt);
/// What the job waits for; null if it does not wait.
nlohmann::ordered_json WaitingJson(const JobView& view);
/// All that is known of a task, with its newest measurement if there is one.
nlohmann::ordered_json TaskJson(const JobView::Task& task, const ObservedJob& job);

}  // namespace tony::core
