// The settings of a job for the YARN backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobfile/configuration/configuration.h"
#include "jobfile/values/placement.h"

namespace tony::jobfile {

/// The placement of a task type's containers. A plain value.
struct TypePlacement {
  std::vector<std::string> tags;                  ///< tags to which constraints refer; at least one
  std::optional<PlacementConstraint> constraint;  ///< the nodes that they may use; nullopt: any

  bool operator==(const TypePlacement&) const = default;
};

/// The values of YARN's keys, one per field; docs/configuration.md describes them. A plain value.
struct YarnSettings {
  std::string conf_dir;  ///< absolute; empty: the environment names it
  std::string queue;
  std::string staging_dir;  ///< a path or URI; empty: in the user's home folder
  std::string runtime;      ///< absolute; empty: the archive of this build
  std::string application_type;
  std::vector<std::string> tags;
  int priority = 0;
  std::string gpu_resource;
  std::string am_node_label;                       ///< label of the ApplicationMaster's node
  std::map<std::string, std::string> node_labels;  ///< by task type; only types with a label
  /// Amounts of further resource types that each task gets, by task type and resource type.
  std::map<std::string, std::map<std::string, int64_t>> other_resources;
  std::map<std::string, TypePlacement> placements;  ///< by task type: all types, or none
  std::string view_acl;
  std::string modify_acl;
  std::chrono::milliseconds timeout{0};  ///< for one call to a server
  int cache_days = 0;  ///< days until an unused cached archive is removed; 0: never

  bool operator==(const YarnSettings&) const = default;
};

/// Builds the settings from the keys. `types`: the names of the job's task types.
YarnSettings BuildYarnSettings(const Configuration& configuration,
                               const std::vector<std::string>& types);

}  // namespace tony::jobfile
