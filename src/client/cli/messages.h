// What tony-submit prints outside a job's own display, and the statuses with which it exits.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "client/cli/options.h"

namespace tony::client {

/// Exit statuses of tony-submit besides those of verdicts.
enum SubmitExit {
  kBadUsage = 2,
  kInfrastructure = 3,
  kKilled = 4,
  kNeverFits = 5,
};

/// "tony-submit: TEXT" on standard error.
void PrintError(const std::string& text);
/// The same for an error; returns `exit_code`.
int FailWith(const absl::Status& status, int exit_code);
/// Of a job that was followed to no verdict: the user who left with Ctrl-C is not told that the
/// infrastructure has failed.
int ExitOf(const absl::Status& no_verdict);
/// Text for people on standard output.
void WriteOut(const std::string& text);
/// What programs read, on standard output: JSON that is SafeJson.
void WriteBytes(const std::string& bytes);
/// What a detached job is known by, as --json wants it or as a line.
void WriteJobId(const SubmitOptions& options, const std::string& job_id);

}  // namespace tony::client
