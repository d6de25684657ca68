// The complete environment of the user's program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/cluster_spec.h"
#include "core/runtime/runtime.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// What the environment depends on besides the assignment.
struct RunIdentity {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  int visualization_port = 0;
  std::optional<core::HorovodPlace> horovod = {};  ///< of one of Horovod's processes
  std::string driver_output_folder = {};           ///< of a Horovod job's driver
  std::string collective_package = {};             ///< its folder; empty: not for this job
  std::string counters_folder = {};                ///< into which ranks of tony.collective write
};

/// `base` (the container's own environment) with what the runtime renders laid over it, then
/// `hadoop`, as "NAME=value". With a virtual environment its bin folder comes first in PATH.
std::vector<std::string> TaskEnvironment(const std::vector<std::string>& base,
                                         const v1::Assignment& assignment,
                                         const RunIdentity& identity,
                                         const core::ClusterSpec& cluster,
                                         const core::Environment& hadoop,
                                         const std::string& working_folder);

/// What is known of it before there is a cluster spec: `base` with the job's own variables laid
/// over it.
core::Environment EnvironmentOfJob(const std::vector<std::string>& base,
                                   const v1::Assignment& assignment);

}  // namespace tony::executor
