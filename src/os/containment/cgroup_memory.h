// The memory controller of a control group, version 2 or version 1.
#pragma once

#include <cstdint>

#include "os/containment/cgroup_folder.h"

namespace tony::os {

/// Limits the memory of the group's processes to `bytes`, swap included where the kernel counts it.
/// Returns false if the group has no memory controller.
bool SetCgroupMemoryLimit(const CgroupFolder& group, int64_t bytes);

/// The peak use in bytes since ResetCgroupMemoryPeak(), or since the group's creation where the
/// kernel cannot reset it; 0 if the kernel does not report it.
int64_t CgroupMemoryPeak(const CgroupFolder& group);
void ResetCgroupMemoryPeak(const CgroupFolder& group);

/// Number of processes that the kernel has killed during the group's life because its memory ran
/// out.
int CgroupMemoryKills(const CgroupFolder& group);

}  // namespace tony::os
