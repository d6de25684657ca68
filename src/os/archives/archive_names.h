// What an entry's name means and where a symbolic link leads; pure computation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// The parts of a path below some root, without "", "." and ".."; empty: the root itself.
using PathParts = std::vector<std::string>;

/// "a/b/c" of its parts; "" for the root.
std::string JoinParts(const PathParts& parts);

/// The place that an entry's name stands for. InvalidArgument – absolute, a ".." in it, or longer
/// than 4095 bytes.
absl::StatusOr<PathParts> SplitEntryName(const std::string& name);

/// The target of the symbolic link at a path below the root; nothing where there is no link.
using LinkLookup = std::function<std::optional<std::string>(const std::string& path)>;

/// Whether the symbolic link at `link` with `target` leads to a place below the root, walking as
/// the kernel does: through the links that `lookup` knows, so that "a/.." is right also where a is
/// a link. What the last part of the target is does not matter: if it is a link, that link is to be
/// asked about itself. Parts that do not exist count as folders. Absolute and endless targets lead
/// outside.
bool TargetStaysInside(const PathParts& link, const std::string& target, const LinkLookup& lookup);

}  // namespace tony::os
