// Tells which process a number stands for, whose it is, and which file it executes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tony::os {

/// When the kernel started the process, in clock ticks since the machine's boot. Together with the
/// number it identifies one process of a boot, since numbers are reused. Nothing if there is no
/// such process.
std::optional<int64_t> ProcessStart(pid_t pid);

/// Whether the process runs as this process's user in every respect: by its real, effective, saved
/// and file system user. The owner of /proc/PID is not used, because it is root for every process
/// that has made itself undumpable. The effective user alone is not enough, because a set-uid
/// program started by a stranger has another's. False if there is no such process.
bool IsOwnProcess(pid_t pid);

/// Whether the process executes the file `program` (absolute), also if that file has been replaced
/// by a newer one since. False if there is no such process, or if this one may not look.
bool Executes(pid_t pid, const std::string& program);

/// The rest of the process's first command line argument that begins with `prefix`
/// ("--container-id="). In a process that shows a title of its own (process_title.h) it ends at a
/// space. Do not trust it alone: every user of the machine may give a process any argument.
std::optional<std::string> ArgumentOf(pid_t pid, const std::string& prefix);

}  // namespace tony::os
