// Shows a submitted job until it has ended.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/environment.h"
#include "client/cli/options.h"
#include "client/follow/job_output.h"
#include "client/follow/master_source.h"
#include "client/follow/submission.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/record/verdict.h"
#include "jobfile/configuration/configuration.h"

namespace tony::client {

/// The job to follow. Plain data.
struct FollowedJob {
  std::string id;
  MakeSource make_source;
  JobOutput::OpenCatalog open_catalog = nullptr;  ///< for SubmitOptions::logs; null without
  /// See Submission::Options. The owner of a job goes on after a hang-up of its terminal if
  /// tony.client.on-hangup says so, with its messages in `hangup_log` (empty: nowhere).
  bool owner = true;
  std::string hangup_log;
  std::string local_dir;  ///< tony.local.dir of an owner's job on this machine; empty: on a cluster
  FollowedStep step;      ///< SIGHUP stops the job of a step
};

/// Runs Submission::FollowToEnd() with the printer that `options` and the terminal ask for, and
/// beside it the output of the job's tasks if it is asked for. ResourceExhausted – this process may
/// not start enough threads to receive the job's events.
absl::StatusOr<core::Verdict> FollowJob(const SubmitOptions& options,
                                        const Environment& environment,
                                        const jobfile::Configuration& configuration,
                                        const FollowedJob& job);

}  // namespace tony::client
