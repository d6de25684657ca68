// What a task's end says about who began: the task itself, or a peer that it lost.
#pragma once

#include "core/tasks/task_exit.h"

namespace tony::core {

/// In the order of guilt.
enum class FailureKind {
  kLost,         ///< its container, its executor or tony's own program in it went away: no peer can
                 ///< have done that
  kOwnFault,     ///< a signal, memory, the program's own exception, or no start at all
  kUnexplained,  ///< a code without a word, or the time limit
  kVictim,       ///< it ended because a connection to a peer broke
  kStopped,      ///< tony ended it
};

/// Tells from its exit and the last lines of its output what kind of failure a task's is; the first
/// rule that fits decides. A code above 128 is what a shell makes of a signal, and counts as it.
/// 1. kStopped: tony ended it (TaskExit::Cause::kStopped).
/// 2. kLost: TaskExit::Cause::kLost.
/// 3. kOwnFault: it could not be started, or memory ran out (on the host or on the GPU), whatever
///    else its output says: peers complain to one that is out of memory, too.
/// 4. kVictim: the last Python traceback, with those that led to it, names a broken connection to a
///    peer ("Connection reset", NCCL's or gloo's "connection closed", TensorFlow's UNAVAILABLE and
///    ABORTED, Horovod's "request failed too many times", …); without a traceback, any of the last
///    lines does. Of signals only SIGABRT, SIGPIPE and SIGTERM can follow from that.
/// 5. kOwnFault: a signal, or a Python traceback.
/// 6. kUnexplained: the rest.
/// A guess, used to choose among several failures and never to excuse the only one.
FailureKind KindOf(const TaskExit& exit);

}  // namespace tony::core
