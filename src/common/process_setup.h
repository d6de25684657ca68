// What every program of ours does first.
#pragma once

#include <cstdint>

namespace tony {

/// Exit status of a program to which the machine does not give what it needs.
inline constexpr int kExitUnable = 3;

/// Gives the process the program's name, for `ps`. Ignores SIGPIPE and SIGXFSZ, so that a closed
/// pipe and a file of the size that `ulimit -f` allows are errors of write(), and turns off the
/// search for lock cycles that the system's abseil does on every lock. An exception that a library
/// throws on whatever thread, and that nobody can do anything about, ends the program with
/// kExitUnable and a sentence on standard error: no descriptor, thread or memory is left. Call it
/// before threads exist.
void SetUpProcess();

/// How many files the process may have open (the soft limit of `ulimit -n`).
uint64_t OpenFilesLimit();

/// Lets the process open as many files as it may (the hard limit of `ulimit -n`): a daemon needs
/// some for each task. Programs of users are not to inherit it: select() takes no descriptor
/// beyond 1023, and some programs close all that they may have.
void RaiseOpenFiles();

/// Sets the soft limit to `limit`, or to the hard one where that is lower. Open files stay open.
void LimitOpenFiles(uint64_t limit);

}  // namespace tony
