// Placement constraints of YARN, in the notation of Hadoop's PlacementConstraintParser.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::jobfile {

/// Where a container may be, as
///
/// ```
/// CONSTRAINT  in,SCOPE,TAG,…                     where containers with each of the tags are
///             notin,SCOPE,TAG,…                  where none of them is
///             cardinality,SCOPE,TAG,…,MIN,MAX    where there are so many of each of them
///             NAME=VALUE,…   NAME!=VALUE,…       on nodes with, or without, an attribute
///             and(CONSTRAINT:…)   or(CONSTRAINT:…)
/// SCOPE       node, rack
/// TAG         [OWNER/]NAME
/// OWNER       self (this application, if none is given), not-self, all, app-id/ID, app-tag/TAG
/// ```
/// Words may be written in any case, with white space around them. A plain value.
struct PlacementConstraint {
  enum class Kind { kTags, kAttribute, kAnd, kOr };
  struct Tag {
    std::string owner;  ///< whose containers count: "self", "app-id/application_1_0001", …
    std::string name;

    bool operator==(const Tag&) const = default;
  };
  static constexpr int kAnyNumber = std::numeric_limits<int>::max();

  Kind kind = Kind::kTags;

  // Of kTags: so many containers with each of the tags are there before this one comes.
  std::string scope;  ///< "node" or "rack"
  std::vector<Tag> tags;
  int minimum = 0;
  int maximum = 0;  ///< kAnyNumber: no limit

  // Of kAttribute.
  std::string attribute;
  std::vector<std::string> values;
  bool equal = true;  ///< false: it has none of the values

  std::vector<PlacementConstraint> parts;  ///< of kAnd and kOr

  bool operator==(const PlacementConstraint&) const = default;
};

/// InvalidArgument – what is not in the notation, and the part of it that is not.
absl::StatusOr<PlacementConstraint> ParsePlacement(const std::string& text);

/// What ParsePlacement() reads back as `constraint`; the shortest way to write it.
std::string FormatPlacement(const PlacementConstraint& constraint);

}  // namespace tony::jobfile
