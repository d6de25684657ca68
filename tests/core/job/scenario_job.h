// The command `job` of a scenario file as the description of a job.
#pragma once

#include "absl/status/statusor.h"
#include "core/model/job_description.h"
#include "tests/core/job/scenario_command.h"

namespace tony::core {

struct ScenarioJob {
  JobDescription description;
  int hosts = 0;  ///< over which containers are spread in turn; 0: each has its own
};

/// TYPE=N for each type, and: untracked= sidecar= stop-on-failure= (lists), retries=N (of both
/// budgets), infrastructure=N (of that one), backoff= (none), scope=TYPE:task|type,… ,
/// after=TYPE:TYPE+TYPE,… (the first depends on the others),
/// limit=TYPE:DURATION:TYPE+TYPE[:ignored],… (of the first after the group of the others), tolerant
/// (a worker may fail), application= allocation= hold= registration= heartbeat= grace= shutdown=
/// (durations), missed=N, horovod (with a type `driver`), own-driver, elastic=LEAST:FIRST,
/// planning= (duration), hosts=N.
///
/// A misspelt name of a number, e.g. `retires=1`, is a type: the golden output shows its tasks.
///
/// InvalidArgument – a type is given twice, an option names a type that the job does not have, or a
///     value is not of its form; the message says what was expected.
absl::StatusOr<ScenarioJob> ReadScenarioJob(const ScenarioCommand& command);

}  // namespace tony::core
