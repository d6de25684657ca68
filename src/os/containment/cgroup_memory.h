// The memory controller of a control group, version 2 or 1.
#pragma once

#include <cstdint>

#include "os/containment/cgroup_folder.h"

namespace tony::os {

/// Whether the group has the controller and keeps its processes to `bytes`, swap included where the
/// kernel counts it.
bool SetCgroupMemoryLimit(const CgroupFolder& group, int64_t bytes);

/// The most that was used at once since ResetCgroupMemoryPeak(), or ever where the kernel cannot
/// forget it; 0 when it does not say.
int64_t CgroupMemoryPeak(const CgroupFolder& group);
void ResetCgroupMemoryPeak(const CgroupFolder& group);

/// How many processes the kernel ended in the group's life because its memory ran out.
int CgroupMemoryKills(const CgroupFolder& group);

}  // namespace tony::os
