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

/// Submission::FollowToEnd() with the printer that `options` and the terminal ask for.
/// ResourceExhausted – this process may start too few threads to hear of the job.
absl::StatusOr<core::Verdict> FollowJob(const SubmitOptions& options,
                                        const Environment& environment,
                                        const spec::Configuration& configuration,
                                        const MakeSource& make_source);

}  // namespace tony::client
