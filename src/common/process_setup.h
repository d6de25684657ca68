// What every program of ours does first.
#pragma once

namespace tony {

/// Ignores SIGPIPE and SIGXFSZ, so that a closed pipe and a file of the size that `ulimit -f`
/// allows are errors of write(), and turns off the search for lock cycles that the system's abseil
/// does on every lock. Call it before threads exist.
void SetUpProcess();

}  // namespace tony
