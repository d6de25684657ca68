// A control group as a folder: its processes, their end, and its removal. Both versions of the
// kernel's interface.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace tony::os {

/// Folders of the calling process's own group in the hierarchies of use here; empty where there is
/// none. A plain value.
struct CgroupPlaces {
  std::string unified;  ///< version 2
  std::string freezer;  ///< version 1
  std::string memory;   ///< version 1
};

/// `membership` has the lines of /proc/PID/cgroup, `mount_root` is the folder below which the
/// hierarchies are mounted (/sys/fs/cgroup). A group that is not visible there, as in a container
/// with a mount of its own, is the root of the mount.
CgroupPlaces FindCgroupPlaces(const std::string& membership, const std::string& mount_root);

/// The places of the calling process.
CgroupPlaces OwnCgroupPlaces();

/// One group, which need not exist. Not thread safe.
class CgroupFolder {
 public:
  CgroupFolder() = default;
  /// `path` of the folder; empty: no group.
  explicit CgroupFolder(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool valid() const { return !path_.empty(); }
  bool Has(const std::string& file) const;
  std::string Read(const std::string& file) const;
  /// 0, or the error's number.
  int Write(const std::string& file, const std::string& text) const;

  /// Makes the group and finds out whether processes can be put into it: it and the one above can
  /// be written. Unavailable – not so, or the group is there already, and somebody else's then.
  absl::Status Create() const;

  /// Processes in it and in the groups below. Zombies are not counted.
  std::vector<pid_t> Members() const;
  bool Empty() const;
  /// Stops all of them, so that Members() is complete, until Kill(); a process that the kernel
  /// cannot stop within moments is not waited for. No effect where the kernel does not offer it.
  void Freeze() const;
  /// SIGKILL to all of them, so that none can fork itself away where the kernel offers that;
  /// otherwise repeat until Empty().
  void Kill() const;
  /// Removes it and the groups below; true when it is gone. Processes in it prevent that.
  bool Remove() const;

 private:
  std::string path_;
};

/// "tony-ID.OWNER-NAMESPACE": the name of a container's groups, below the group of its owner, which
/// is the process that makes them, in the caller's process namespace.
std::string CgroupNameOf(const std::string& container_id, pid_t owner);

/// The groups of a container that are there, of whichever owner in the caller's own group.
std::vector<CgroupFolder> ContainerGroups(const std::string& container_id);

/// Ends what is in these groups, and removes them. True when none is left, which is usually known
/// at once; gives up after a second.
bool RemoveContainerGroups(const std::string& container_id);

/// Removes the groups in the caller's own one, and of its process namespace, whose owner is gone
/// and in which nothing runs: of containers of which everything was killed at once, so that nobody
/// was left to remove them.
void RemoveAbandonedGroups();

}  // namespace tony::os
