// Shows a submitted job until it has ended.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/environment.h"
#include "client/master_source.h"
#include "client/options.h"
#include "client/submission.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/verdict.h"
#include "spec/configuration.h"

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

/// Submission::FollowToEnd() with the printer that `options` and the terminal ask for.
/// ResourceExhausted – this process may start too few threads to hear of the job.
absl::StatusOr<core::Verdict> FollowJob(const SubmitOptions& options,
                                        const Environment& environment,
                                        const spec::Configuration& configuration,
                                        const MakeSource& make_source);

}  // namespace tony::client
