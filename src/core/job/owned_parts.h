// The parts of a job's state machine, as JobMachine owns them.
#pragma once

#include <memory>
#include <utility>

#include "core/job/executors.h"
#include "core/job/failure_judge.h"
#include "core/job/gang_scheduler.h"
#include "core/job/job_deadlines.h"
#include "core/job/job_ending.h"
#include "core/job/job_parts.h"
#include "core/job/job_record.h"
#include "core/job/job_run.h"
#include "core/job/make_ranks.h"
#include "core/job/task_steps.h"

namespace tony::core {

/// The parts refer to each other by `parts`, so that this object cannot move. Not thread safe:
/// owned by the state machine.
struct OwnedParts {
  explicit OwnedParts(JobDescription description)
      : run(std::move(description)),
        ranks(MakeRanks(run, parts)),
        record(run, parts),
        executors(run, parts),
        ending(run, parts),
        gangs(run, parts),
        judge(run, parts),
        steps(run, parts),
        deadlines(run, parts),
        parts{record, executors, ending, gangs, judge, steps, deadlines, *ranks} {}
  OwnedParts(const OwnedParts&) = delete;
  OwnedParts& operator=(const OwnedParts&) = delete;

  JobRun run;
  const std::unique_ptr<Ranks> ranks;
  JobRecord record;
  Executors executors;
  JobEnding ending;
  GangScheduler gangs;
  FailureJudge judge;
  TaskSteps steps;
  JobDeadlines deadlines;
  const JobParts parts;
};

}  // namespace tony::core
