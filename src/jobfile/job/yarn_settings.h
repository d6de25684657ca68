// What the YARN backend is told by a job's configuration.
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

/// Where containers of a type are, seen from others. A plain value.
struct TypePlacement {
  std::vector<std::string> tags;  ///< by which others refer to them; there is one at least
  std::optional<PlacementConstraint> constraint;  ///< where they may be

  bool operator==(const TypePlacement&) const = default;
};

/// Each field is the value of one key, see docs/configuration.md. A plain value.
struct YarnSettings {
  std::string conf_dir;  ///< absolute; empty: by the environment
  std::string queue;
  std::string staging_dir;  ///< a path or URI; empty: below the user's folder
  std::string runtime;      ///< absolute; empty: of this build
  std::string application_type;
  std::vector<std::string> tags;
  int priority = 0;
  std::string gpu_resource;
  std::string am_node_label;                       ///< of the ApplicationMaster's node
  std::map<std::string, std::string> node_labels;  ///< by task type, where there is one
  /// By task type, where there are any: resource types and how much of them each task gets.
  std::map<std::string, std::map<std::string, int64_t>> other_resources;
  std::map<std::string, TypePlacement> placements;  ///< of all task types, or empty
  /// Docker images by task type, and of the ApplicationMaster as "am"; none where the job's
  /// containers are no Docker containers.
  std::map<std::string, std::string> docker_images;
  std::vector<std::string> docker_mounts;  ///< "source:destination:mode"
  std::string view_acl;
  std::string modify_acl;
  std::chrono::milliseconds timeout{0};  ///< of a call
  int cache_days = 0;                    ///< that what is copied once is kept unused; 0: for ever

  bool operator==(const YarnSettings&) const = default;
};

/// `types`: the names of the job's task types.
YarnSettings BuildYarnSettings(const Configuration& configuration,
                               const std::vector<std::string>& types);

}  // namespace tony::jobfile
