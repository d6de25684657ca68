// Containment in a control group of the container's own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/containment/cgroup_folder.h"
#include "os/containment/containment.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// 1. The group is made below the owner's own one: version 2 with cgroup.kill, else the freezer of
///    version 1. The program is born in it (clone3) or puts itself there before its exec; nobody
///    gets out by forking.
/// 2. The container is empty when the kernel says so of the group and of the keeper's children: a
///    program with the right to leave the group is still the keeper's descendant.
/// 3. Memory is limited in the same group where it has a memory controller, else in a group of
///    version 1. There the keeper itself moves in beforehand, since moving waits for every
///    processor to pass a quiet state (some 10 ms), which is not to be waited for at the start of
///    the program; its few pages are the program's neighbours, and it is not to be chosen when
///    memory runs out. The keeper cannot remove that group from inside: its owner does so after
///    its end, and the keeper moves out when it has no owner any more.
/// Not thread safe.
class CgroupContainment : public Containment {
 public:
  /// `memory_bytes`: limit; 0: none.
  CgroupContainment(const std::string& container_id, int64_t memory_bytes)
      : container_id_(container_id), memory_bytes_(memory_bytes) {}

  const std::string& name() const override { return name_; }
  absl::Status Prepare() override;
  absl::Status Enter(pid_t owner) override;
  void Settle() override;
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
  CgroupPlaces places_;
  CgroupFolder group_;
  CgroupFolder memory_;                   // not valid: nobody limits it
  UniqueFd group_folder_;                 // for clone3(), version 2
  bool inside_memory_ = false;            // the keeper is
  std::string out_of_memory_adjustment_;  // of the owner, which the program gets back
  bool born_inside_ = false;              // the process that Fork() made
  int kills_before_ = 0;
};

}  // namespace tony::os
