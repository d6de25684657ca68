// Builds the complete environment of the user's program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/cluster_spec.h"
#include "core/runtime/runtime.h"
#include "tony/v1/application_master.pb.h"

namespace tony::executor {

/// The inputs of the environment besides the assignment.
struct RunIdentity {
  std::string container_id;
  int epoch = 0;
  int attempt = 0;
  int visualization_port = 0;
  std::optional<core::HorovodSlot> horovod = {};  ///< place of one of Horovod's processes
  std::string driver_output_folder = {};          ///< folder of a Horovod job's driver
  std::string collective_package = {};  ///< folder of the package; empty: not for this job
  std::string report_pipe = {};         ///< where the program reports values of itself
  std::string feed_socket = {};         ///< where the program takes data; empty: it is not fed
  std::string counters_folder = {};     ///< where ranks of tony.collective write their counters
  std::string stacks_package = {};      ///< folder of the sitecustomize for stacks; empty: none
  std::string stacks_folder = {};       ///< where Python processes write their stacks; empty: none
};

/// Returns `base` (the container's own environment), overlaid with the variables that the runtime
/// renders and then with `machine`, as "NAME=value". The bin folder of a virtual environment comes
/// first in PATH.
std::vector<std::string> TaskEnvironment(const std::vector<std::string>& base,
                                         const v1::Assignment& assignment,
                                         const RunIdentity& identity,
                                         const core::ClusterSpec& cluster,
                                         const core::Environment& machine,
                                         const std::string& working_folder);

/// Returns the part of the environment that is known before there is a cluster spec: `base`
/// overlaid with the job's own variables.
core::Environment EnvironmentOfJob(const std::vector<std::string>& base,
                                   const v1::Assignment& assignment);

}  // namespace tony::executor
