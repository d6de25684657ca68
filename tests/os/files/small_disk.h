// A disk that is full soon.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "os/files/proc_file.h"

namespace tony::os {

/// Mounts a disk of `bytes` at `folder`, which only the calling process sees. False where this user
/// may not do that. For a forked child: it has one thread.
inline bool MountSmallDisk(const std::string& folder, int64_t bytes) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS) != 0) {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        WriteProcFile("/proc/self/setgroups", "deny") != 0 ||
        WriteProcFile("/proc/self/uid_map", absl::StrCat(user, " ", user, " 1")) != 0 ||
        WriteProcFile("/proc/self/gid_map", absl::StrCat(group, " ", group, " 1")) != 0) {
      return false;
    }
  }
  return ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         ::mount("tmpfs", folder.c_str(), "tmpfs", 0, absl::StrCat("size=", bytes).c_str()) == 0;
}

}  // namespace tony::os
