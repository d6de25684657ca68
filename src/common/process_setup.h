// Settings that every program of tony makes first.
#pragma once

#include <cstdint>

namespace tony {

/// Exit status of a program that the machine denies a resource it needs.
inline constexpr int kExitUnable = 3;

/// Sets the process's name to the program's name, for `ps`. Ignores SIGPIPE and SIGXFSZ, so that a
/// closed pipe and a file at the size limit of `ulimit -f` become errors of write(). Turns off the
/// search for lock cycles that the system's abseil does on every lock. Lets each heap keep 4 MiB of
/// free memory for the next large buffers. An exception that a library throws on any thread and
/// that nobody catches, because no descriptor, thread or memory is left, ends the program with
/// kExitUnable and a sentence on standard error. Call it before threads exist.
void SetUpProcess();

/// Number of files that the process may have open (the soft limit of `ulimit -n`).
uint64_t OpenFilesLimit();

/// Raises the soft limit on locked memory to the hard limit (`ulimit -l`), for this process and
/// those that it starts: buffers for RDMA are locked.
void RaiseLockedMemory();

/// Raises the soft limit on open files to the hard limit (`ulimit -n`): a daemon needs some files
/// for each task. The users' programs must not inherit the raised limit: select() takes no
/// descriptor beyond 1023, and some programs close every descriptor up to the limit.
void RaiseOpenFiles();

/// Sets the soft limit to `limit`, or to the hard limit if that is lower. Open files stay open.
void LimitOpenFiles(uint64_t limit);

}  // namespace tony
