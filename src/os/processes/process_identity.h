// Which process a number stands for, whose it is, and what it executes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tony::os {

/// When the kernel started the process, in clock ticks since the machine's boot: together with the
/// number it names one process of a boot, since numbers are given again. Nothing when there is no
/// such process.
std::optional<int64_t> ProcessStart(pid_t pid);

/// Whether the process runs as this process's user in every respect: by its real, effective, saved
/// and file system user. Not asked of the owner of /proc/PID, which is root for every process that
/// has made itself undumpable, and not of the effective user alone, which is another's in a set-uid
/// program that a stranger has started. False when there is no such process.
bool IsOwnProcess(pid_t pid);

/// Whether the process executes the file `program` (absolute), also where that has been replaced by
/// a newer one since. False when there is no such process, or this one may not look.
bool Executes(pid_t pid, const std::string& program);

/// The rest of the process's first command line argument that begins with `prefix`
/// ("--container-id="); in a process that shows a title of its own (process_title.h) it ends at a
/// space. Every user of the machine may give a process any argument.
std::optional<std::string> ArgumentOf(pid_t pid, const std::string& prefix);

}  // namespace tony::os
