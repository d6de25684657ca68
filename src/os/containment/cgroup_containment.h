// Containment in a control group that belongs to one container.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/containment/cgroup_folder.h"
#include "os/containment/containment.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// 1. The group is created below the owner's own group: version 2 with cgroup.kill, else the
///    freezer of version 1. The program is created in it (clone3) or moves itself in before its
///    exec; forking does not lead out of a group.
/// 2. The container is empty when the kernel says that the group is empty and that the keeper has
///    no child. The second condition covers a program that has the right to leave the group: it is
///    still the keeper's descendant.
/// 3. Memory is limited in the same group if that has a memory controller, else in a separate group
///    of version 1. The keeper itself moves into the separate group beforehand, because a move
///    waits until every processor has passed a quiescent state (some 10 ms), and the program's
///    start must not wait for that. The keeper's few pages count with the program's, and the keeper
///    is exempt from the kernel's choice when memory runs out. The keeper cannot remove this group
///    from inside: the owner removes it after the keeper's end, or the keeper moves out first if it
///    has no owner any more.
/// Not thread safe.
class CgroupContainment : public Containment {
 public:
  /// `memory_bytes`: the memory limit in bytes; 0: no limit.
  CgroupContainment(const std::string& container_id, int64_t memory_bytes)
      : container_id_(container_id), memory_bytes_(memory_bytes) {}

  const std::string& name() const override { return name_; }
  absl::Status Prepare() override;
  absl::Status Enter(pid_t owner) override;
  void Settle() override;
  void BeginCounting() override;
  pid_t Fork() override;
  int Join() override;
  std::vector<pid_t> Signal(int number) override;
  bool Empty() override;
  void Leave(bool owner_lives) override;
  void CleanUp() override;
  bool limits_memory() const override { return memory_.valid(); }
  ContainedMemory Memory() override;

 private:
  absl::Status PrepareGroup();
  void PrepareMemory();
  bool memory_is_apart() const { return memory_.valid() && memory_.path() != group_.path(); }

  const std::string name_ = "cgroup";
  const std::string container_id_;
  const int64_t memory_bytes_;
  CgroupFolders folders_;
  CgroupFolder group_;
  CgroupFolder memory_;                   // not valid: no memory limit is enforced
  UniqueFd group_folder_;                 // target of clone3() (version 2 only)
  bool inside_memory_ = false;            // the keeper is a member of memory_
  std::string out_of_memory_adjustment_;  // the owner's oom_score_adj, which the program gets back
  bool born_inside_ = false;              // Fork() made the process inside the group
  // the group's count of memory kills at BeginCounting()
  int kills_before_ = 0;
};

}  // namespace tony::os
