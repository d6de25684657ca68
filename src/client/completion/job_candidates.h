// Completes the names of this machine's jobs and of their tasks, in milliseconds.
#pragma once

#include <string>

#include "client/completion/completion.h"

namespace tony::client {

/// Which jobs are offered.
enum class JobChoice { kAll, kRunning, kOver };

/// The jobs in `local_dir` whose names begin with `word`, newest first, and "latest"; if there is
/// none, the only one whose name ends with `word`. At most kMostJobs, of which the first ones have
/// a meaning, since more would take too long to read. None: there are no such jobs, or the folder
/// cannot be read.
Candidates JobCandidates(const std::string& local_dir, const std::string& word, JobChoice choice);
constexpr size_t kMostJobs = 200;

/// The tasks that begin with `word` of the job that `wish` means (ChooseJob()): "worker:0", and
/// without `only_tasks` also the types and "am". None: there is no such job.
Candidates TaskCandidates(const std::string& local_dir, const std::string& wish,
                          const std::string& word, bool only_tasks);

}  // namespace tony::client
