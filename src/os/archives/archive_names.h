// The meaning of an entry's name and of a symbolic link's target; pure computation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// The parts of a path below some root, without "", "." and ".."; empty: the root itself.
using PathParts = std::vector<std::string>;

/// Joins the parts to "a/b/c"; "" for the root.
std::string JoinParts(const PathParts& parts);

/// The place that an entry's name stands for. InvalidArgument – the name is absolute, has a "..",
/// or is longer than 4095 bytes.
absl::StatusOr<PathParts> SplitEntryName(const std::string& name);

/// Returns the target of the symbolic link at a path below the root; nothing if there is no link.
using LinkLookup = std::function<std::optional<std::string>(const std::string& path)>;

/// Whether the symbolic link at `link` with `target` leads to a place below the root. The walk
/// works like the kernel's: it goes through the links that `lookup` knows, so that "a/.." is right
/// even if a is a link. The kind of the target's last part does not matter: if it is a link, ask
/// about that link itself. Parts that do not exist count as folders. Absolute and endless targets
/// lead outside.
bool TargetStaysInside(const PathParts& link, const std::string& target, const LinkLookup& lookup);

}  // namespace tony::os
