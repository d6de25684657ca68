// The order is cgroup, namespace, process tree: the surest and cheapest way comes first.
#include "os/containment/containment_choice.h"

#include "os/containment/cgroup_containment.h"
#include "os/containment/namespace_containment.h"
#include "os/containment/process_tree_containment.h"

namespace tony::os {

std::optional<ContainmentWay> ParseContainmentWay(const std::string& name) {
  if (name == "auto") return ContainmentWay::kAuto;
  if (name == "cgroup") return ContainmentWay::kCgroup;
  if (name == "namespace") return ContainmentWay::kNamespace;
  if (name == "process-tree") return ContainmentWay::kProcessTree;
  return std::nullopt;
}

std::vector<std::unique_ptr<Containment>> ContainmentsFor(const std::string& container_id,
                                                          const ContainmentOptions& options) {
  const auto wanted = [&](ContainmentWay way) {
    return options.way == way || options.way == ContainmentWay::kAuto;
  };
  std::vector<std::unique_ptr<Containment>> ways;
  if (wanted(ContainmentWay::kCgroup)) {
    ways.push_back(std::make_unique<CgroupContainment>(container_id, options.memory_bytes));
  }
  if (wanted(ContainmentWay::kNamespace)) ways.push_back(std::make_unique<NamespaceContainment>());
  if (wanted(ContainmentWay::kProcessTree)) {
    ways.push_back(std::make_unique<ProcessTreeContainment>(container_id));
  }
  return ways;
}

}  // namespace tony::os
