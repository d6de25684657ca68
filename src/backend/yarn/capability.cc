// Memory and cores have fields of their own; all other resources are a list by name.
#include "backend/yarn/capability.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tony::backend {
namespace {

using ::hadoop::yarn::ResourceInformationProto;
using ::hadoop::yarn::ResourceProto;

// The entry for `name`; null if there is none. The list may repeat memory and cores under other
// names.
const ResourceInformationProto* Find(const ResourceProto& capability, const std::string& name) {
  for (const ResourceInformationProto& item : capability.resource_value_map()) {
    if (item.key() == name) return &item;
  }
  return nullptr;
}

bool IsListedTwice(const std::string& name) { return name == "memory-mb" || name == "vcores"; }

void Add(ResourceProto& capability, const std::string& name, int64_t amount) {
  auto* const item = capability.add_resource_value_map();
  item->set_key(name);
  item->set_value(amount);
  item->set_type(::hadoop::yarn::COUNTABLE);
}

std::string Excess(int64_t wanted, int64_t largest, const std::string& unit,
                   const std::string& what) {
  return absl::StrCat(wanted, unit, what, ", where ", largest, unit,
                      " is the largest that any node has");
}

}  // namespace

ResourceProto CapabilityOf(const core::ContainerRequest& request,
                           const AllocationOptions& options) {
  ResourceProto capability;
  capability.set_memory(request.resources.memory_mb);
  capability.set_virtual_cores(request.resources.vcores);
  if (request.resources.gpus > 0) Add(capability, options.gpu_resource, request.resources.gpus);
  const auto others = options.other_resources.find(request.type);
  if (others == options.other_resources.end()) return capability;
  for (const auto& [name, amount] : others->second) Add(capability, name, amount);
  return capability;
}

core::Resources ResourcesOf(const ResourceProto& capability, const std::string& gpu_resource) {
  core::Resources resources{.memory_mb = capability.memory(), .vcores = capability.virtual_cores()};
  if (const auto* gpus = Find(capability, gpu_resource)) {
    resources.gpus = static_cast<int>(gpus->value());
  }
  return resources;
}

std::map<std::string, int64_t> OthersOf(const ResourceProto& capability,
                                        const std::string& gpu_resource) {
  std::map<std::string, int64_t> others;
  for (const ResourceInformationProto& item : capability.resource_value_map()) {
    if (!IsListedTwice(item.key()) && item.key() != gpu_resource) others[item.key()] = item.value();
  }
  return others;
}

std::string Describe(const ResourceProto& capability) {
  std::vector<std::string> parts = {
      absl::StrCat(capability.memory(), " MiB"),
      absl::StrCat(capability.virtual_cores(),
                   capability.virtual_cores() == 1 ? " core" : " cores")};
  for (const ResourceInformationProto& item : capability.resource_value_map()) {
    if (IsListedTwice(item.key()) || item.value() == 0) continue;
    parts.push_back(absl::StrCat(item.value(), item.units(), " ", item.key()));
  }
  return absl::StrJoin(parts, ", ");
}

std::string DescribeExcess(const ResourceProto& wanted, const ResourceProto& largest) {
  if (wanted.memory() > largest.memory()) {
    return Excess(wanted.memory(), largest.memory(), " MiB", " of memory");
  }
  if (wanted.virtual_cores() > largest.virtual_cores()) {
    return Excess(wanted.virtual_cores(), largest.virtual_cores(), "", " cores");
  }
  for (const ResourceInformationProto& item : wanted.resource_value_map()) {
    const ResourceInformationProto* const most = Find(largest, item.key());
    if (most == nullptr) {
      return absl::StrCat(item.value(), " ", item.key(),
                          ", a resource type that the cluster does not have");
    }
    // The amounts are compared as they are: an ask uses the cluster's own units.
    if (item.value() > most->value()) {
      return Excess(item.value(), most->value(), "", " " + item.key());
    }
  }
  return "";
}

}  // namespace tony::backend
