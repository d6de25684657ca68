// Placement constraints of YARN: parser and writer for the notation of Hadoop's
// PlacementConstraintParser.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::jobfile {

/// The nodes on which a container may run. In text:
///
/// ```
/// CONSTRAINT  in,SCOPE,TAG,…                     where containers with each of the tags run
///             notin,SCOPE,TAG,…                  where no container with any of the tags runs
///             cardinality,SCOPE,TAG,…,MIN,MAX    where MIN to MAX containers with each tag run
///             NAME=VALUE,…   NAME!=VALUE,…       on nodes with, or without, an attribute
///             and(CONSTRAINT:…)   or(CONSTRAINT:…)
/// SCOPE       node, rack
/// TAG         [OWNER/]NAME
/// OWNER       self (this application, if none is given), not-self, all, app-id/ID, app-tag/TAG
/// ```
/// The words are case-insensitive and may have white space around them. A plain value.
struct PlacementConstraint {
  enum class Kind { kTags, kAttribute, kAnd, kOr };
  struct Tag {
    std::string owner;  ///< owner of the containers: "self", "app-id/application_1_0001", …
    std::string name;

    bool operator==(const Tag&) const = default;
  };
  static constexpr int kAnyNumber = std::numeric_limits<int>::max();

  Kind kind = Kind::kTags;

  // kTags: `minimum` to `maximum` containers with each tag run in the scope before the new one.
  std::string scope;  ///< "node" or "rack"
  std::vector<Tag> tags;
  int minimum = 0;
  int maximum = 0;  ///< kAnyNumber: no limit

  // kAttribute: the node's attribute has one of the values.
  std::string attribute;
  std::vector<std::string> values;
  bool equal = true;  ///< false: the attribute has none of the values

  std::vector<PlacementConstraint> parts;  ///< kAnd and kOr

  bool operator==(const PlacementConstraint&) const = default;
};

/// Parses the notation above. InvalidArgument – it is malformed; the message quotes the wrong part.
absl::StatusOr<PlacementConstraint> ParsePlacement(const std::string& text);

/// The shortest text that ParsePlacement() reads back as `constraint`.
std::string FormatPlacement(const PlacementConstraint& constraint);

}  // namespace tony::jobfile
