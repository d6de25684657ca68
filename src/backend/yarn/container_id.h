// Converts YARN's container ids between messages and text.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "hadoop/yarn/records.pb.h"

namespace tony::backend {

/// "container_1700000000000_0001_01_000002", or "container_e17_…" if the ResourceManager has been
/// started more than once.
std::string ContainerIdText(const ::hadoop::yarn::ContainerIdProto& id);

/// The inverse of ContainerIdText(). InvalidArgument – `text` has another form.
absl::StatusOr<::hadoop::yarn::ContainerIdProto> ParseContainerId(const std::string& text);

}  // namespace tony::backend
