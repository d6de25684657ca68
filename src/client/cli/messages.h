// Prints the messages of tony-submit outside a job's own display.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/cli/exit_status.h"
#include "client/cli/options.h"

namespace tony::client {

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
/// Writes the id of a detached job, as JSON for --json or as a line.
void WriteJobId(const SubmitOptions& options, const std::string& job_id);

}  // namespace tony::client
