// A control group as a folder: lists its processes, kills them and removes the group, in both
// versions of the kernel's interface.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::os {

/// Folders of the calling process's own group in each hierarchy that this code uses; empty where
/// there is no such hierarchy. A plain value.
struct CgroupFolders {
  std::string unified;  ///< version 2
  std::string freezer;  ///< version 1
  std::string memory;   ///< version 1
  std::string cpu;      ///< version 1
};

/// `membership`: the lines of /proc/PID/cgroup. `mount_root`: the folder below which the
/// hierarchies are mounted (/sys/fs/cgroup). A group whose path is not visible below the mount, as
/// in a container with a mount of its own, is the root of the mount.
CgroupFolders FindCgroupFolders(const std::string& membership, const std::string& mount_root);

/// The folders of the calling process's group.
CgroupFolders OwnCgroupFolders();

/// One group, which need not exist. Not thread safe.
class CgroupFolder {
 public:
  CgroupFolder() = default;
  /// `path`: the group's folder; empty: no group.
  explicit CgroupFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool valid() const { return !path_.empty(); }
  bool Has(const std::string& file) const;
  std::string Read(const std::string& file) const;
  /// Returns 0, or the errno value.
  int Write(const std::string& file, const std::string& text) const;

  /// Creates the group and checks that processes can be moved into it: cgroup.procs of the group
  /// and of its parent must be writable. Unavailable – they are not, or the group exists already
  /// and so belongs to somebody else.
  absl::Status Create() const;

  /// Processes in the group and in the groups below it. Zombies are not counted.
  std::vector<pid_t> Members() const;
  bool Empty() const;
  /// Freezes all members, so that Members() is complete, until Kill(). Waits only a moment for a
  /// process that the kernel cannot stop. No effect where the kernel does not offer freezing.
  void Freeze() const;
  /// Sends SIGKILL to all members; where the kernel offers it, atomically, so that no member
  /// escapes by forking. Otherwise repeat until Empty().
  void Kill() const;
  /// Removes the group and the groups below it. Returns true when it is gone; a process in it
  /// prevents the removal.
  bool Remove() const;

 private:
  std::string path_;
};

/// "tony-ID.OWNER-NAMESPACE": the name of a container's groups. OWNER is the process that creates
/// them below its own group; NAMESPACE is the caller's process namespace.
std::string CgroupNameOf(const std::string& container_id, pid_t owner);

/// The existing groups of a container inside the caller's own group, of any owner.
std::vector<CgroupFolder> ContainerGroups(const std::string& container_id);

/// Kills every process in the container's groups and removes the groups. Returns true when no group
/// is left, which is usually known at once; gives up after a second.
bool RemoveContainerGroups(const std::string& container_id);

/// Removes the empty groups inside the caller's own group whose owner is gone, if the owner
/// belonged to the caller's process namespace. Such groups remain when everything of a container
/// was killed at once and nobody was left to remove them.
void RemoveAbandonedGroups();

}  // namespace tony::os
