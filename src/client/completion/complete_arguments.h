// Completes the arguments of a program or a verb by its table of options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "client/completion/completion.h"
#include "client/completion/job_candidates.h"
#include "common/command_line.h"

namespace tony::client {

/// The parts of a command line that completion knows. Plain data.
struct CommandShape {
  OptionTable options;
  /// The arguments as the help shows them: "[JOB] [TASK]", "job.xml…". A last one with "…" is
  /// repeated.
  std::string arguments = "";
  bool takes_command = false;  ///< see Verb::takes_command
  size_t words_before_command = 0;
  JobChoice jobs = JobChoice::kAll;
};

/// Tells the folder of the jobs (tony.local.dir) by the options of an unfinished line; empty: the
/// jobs are not on this machine, or a file of the configuration cannot be read.
using LocalDirOf = std::function<std::string(const CommandLine& line)>;

/// Completes the last of `words`, which come after the program's name and the verb and may still be
/// in quotes; there is at least one.
Completion CompleteArguments(const CommandShape& shape, const std::vector<std::string>& words,
                             const LocalDirOf& local_dir_of);

/// Whether a kind of value or of argument, as tables have them, is known here: either there is a
/// way to complete it, or it is one that only the user knows, such as TEXT. Tests hold every table
/// to it.
bool IsKnownKind(const std::string& kind);

/// The kinds in a text of arguments: "[JOB] [TASK]" → JOB, TASK.
std::vector<std::string> KindsOf(const std::string& arguments);

}  // namespace tony::client
