// YARN's ids of containers, in messages and as text.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "hadoop/yarn/records.pb.h"

namespace tony::backend {

/// "container_1700000000000_0001_01_000002"; "container_e17_…" when the ResourceManager has been
/// started more than once.
std::string ContainerIdText(const ::hadoop::yarn::ContainerIdProto& id);

/// The reverse. InvalidArgument – not of that form.
absl::StatusOr<::hadoop::yarn::ContainerIdProto> ParseContainerId(const std::string& text);

}  // namespace tony::backend
