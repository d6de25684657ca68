// Renders a job for people: table of tasks, summary, and verdict. Text from plain data; only the
// verdict looks for the files that its lines name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/screen.h"
#include "client/show/task_lines.h"
#include "core/record/observed_job.h"

namespace tony::client {

/// Renders the job as several lines, each ended by '\n': headline, tasks, their newest lines, the
/// current wait, visualization, logs. Many tasks that are alike share a row; where that does not
/// suffice, the tasks in each state are counted. `now_millis`: Unix time for durations.
std::string RenderJobTable(const core::ObservedJob& job, int64_t now_millis, const Screen& screen,
                           const std::vector<TaskLine>& lines = {});

/// `line` cut to the screen, and '\n'. `length` bytes from `offset` on are coloured in `color` (an
/// escape sequence; empty: none) if the screen has colours and the cut has left them whole.
std::string FinishLine(const std::string& line, size_t offset, size_t length, const char* color,
                       const Screen& screen);

/// "train (local-…)  RUNNING  12s" and '\n'.
std::string RenderHeadline(const core::ObservedJob& job, int64_t now_millis, const Screen& screen);

/// "Stopping (worker:0 has 3 s left)": whom a job waits for that the user wants to end, and how
/// long at most. `grace_millis`: time between SIGTERM and SIGKILL for its programs.
std::string RenderStopping(const core::JobView& view, int64_t now_millis, int64_t grace_millis);

/// Renders the job's end: outcome, reason, sentence, the guilty task's last lines, with paths as in
/// SourcePaths, and where the logs are. An empty string without a verdict.
std::string RenderVerdict(const core::JobView& view, const Screen& screen);

/// Renders the current wait in one line without '\n': what is waited for, since when, who is
/// missing and what would unblock it. An empty string when nothing is waited for.
std::string RenderWaiting(const core::JobView& view, int64_t now_millis);

}  // namespace tony::client
