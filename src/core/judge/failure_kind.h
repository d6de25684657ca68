// The classification of a task's failure: its own fault, or the consequence of a lost peer.
#pragma once

#include "core/tasks/task_exit.h"

namespace tony::core {

/// The kinds in descending order of guilt.
enum class FailureKind {
  kLost,  ///< its container, its executor or tony's own program in it went away, which no peer can
          ///< cause
  kOwnFault,     ///< a signal, exhausted memory, the program's own exception, or no start at all
  kUnexplained,  ///< an exit code without an explanation, or the time limit
  kVictim,       ///< a connection to a peer broke
  kStopped,      ///< tony ended it
};

/// Classifies a failure by the task's exit and its last lines of output; the first rule that
/// applies decides. An exit code above 128 counts as the signal from which a shell makes it.
/// 1. kStopped: tony ended the task (TaskExit::Cause::kStopped).
/// 2. kLost: TaskExit::Cause::kLost.
/// 3. kOwnFault: the task could not be started, or memory ran out (on the host or on the GPU),
///    whatever else its output says: a task out of memory also gets complaints from its peers.
/// 4. kVictim: the last Python traceback, with those that led to it, names a broken connection to a
///    peer ("Connection reset", NCCL's or gloo's "connection closed", TensorFlow's UNAVAILABLE and
///    ABORTED, Horovod's "request failed too many times", …); without a traceback, any of the last
///    lines does. Of all signals only SIGABRT, SIGPIPE and SIGTERM can be such a consequence.
/// 5. kOwnFault: a signal, or a Python traceback.
/// 6. kUnexplained: every other failure.
/// The result is a guess. It serves to choose among several failures, never to excuse the only one.
FailureKind KindOf(const TaskExit& exit);

}  // namespace tony::core
