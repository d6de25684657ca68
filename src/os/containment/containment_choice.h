// The ways of containment by name, in the order in which they are tried.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "os/containment/containment.h"

namespace tony::os {

enum class ContainmentWay {
  kAuto,         ///< the first of the following that works on this machine
  kCgroup,       ///< a control group that the user may write
  kNamespace,    ///< a process namespace, in a user namespace where privilege is missing
  kProcessTree,  ///< descent and TONY_CONTAINER_ID; works everywhere
};

/// The wishes of a container's owner. A plain value.
struct ContainmentOptions {
  ContainmentWay way = ContainmentWay::kAuto;
  int64_t memory_bytes = 0;  ///< limit for the program and everything that it starts; 0: none
};

/// Parses "auto", "cgroup", "namespace" or "process-tree"; nothing for another name.
std::optional<ContainmentWay> ParseContainmentWay(const std::string& name);

/// The ways that `options` allow, best first, none of them prepared.
std::vector<std::unique_ptr<Containment>> ContainmentsFor(const std::string& container_id,
                                                          const ContainmentOptions& options);

}  // namespace tony::os
