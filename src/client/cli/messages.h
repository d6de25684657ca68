// Prints the messages of tony-submit outside a job's own display.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/cli/exit_status.h"
#include "client/cli/options.h"

namespace tony::client {

/// The version of the JSON objects that describe jobs and submissions. It rises when a reader of
/// the old version would misunderstand the new one; further members come without a new version.
inline constexpr int kJsonVersion = 1;

/// "tony-submit: TEXT" on standard error.
void PrintError(const std::string& text);
/// Prints the error's message like PrintError(); returns `exit_code`.
int FailWith(const absl::Status& status, int exit_code);
/// The exit status of a job that was followed without a verdict. A user who left with Ctrl-C gets
/// kKilled, not kInfrastructure.
int ExitOf(const absl::Status& no_verdict);
/// Writes text for people to standard output.
void WriteOut(const std::string& text);
/// Writes bytes for programs to standard output: JSON that is SafeJson.
void WriteBytes(const std::string& bytes);
/// Writes the id of a submitted job, as JSON for --json or as a line. `local_dir`: tony.local.dir
/// of a job of this machine; empty for a cluster's.
void WriteJobId(const SubmitOptions& options, const std::string& job_id,
                const std::string& local_dir);

}  // namespace tony::client
