// The parts of a job's state machine, by reference. Each part calls those above it in this list,
// and JobRun; all of them may call Ranks, whose implementations call the others.
//
//     JobRecord      what followers are shown: changes of state, and what is waited for
//     Executors      messages to executors, and those awaited by a restarted ApplicationMaster
//     JobEnding      the verdict, and the end of the job
//     GangScheduler  stages and gangs: requests containers, starts programs together
//     FailureJudge   failures: root cause, restart or verdict
//     TaskSteps      what happens to one task: bound, registered, ended, lost
//     JobDeadlines   every wait that ends by time
//     JobMachine     dispatches inputs and replays the journal
//   Ranks          what a Horovod job, or an elastic one, adds
#pragma once

namespace tony::core {

class Executors;
class FailureJudge;
class GangScheduler;
class JobDeadlines;
class JobEnding;
class JobRecord;
class Ranks;
class TaskSteps;

/// Not thread safe: owned by the state machine, which owns the parts as well.
struct JobParts {
  JobRecord& record;
  Executors& executors;
  JobEnding& ending;
  GangScheduler& gangs;
  FailureJudge& judge;
  TaskSteps& steps;
  JobDeadlines& deadlines;
  Ranks& ranks;
};

}  // namespace tony::core
