// Converts between a container's resources and YARN's capability messages.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/model/job_description.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/records.pb.h"
#include "jobfile/job/yarn_settings.h"

namespace tony::backend {

/// How containers of the job's types are asked for. A plain value.
struct AllocationOptions {
  std::string gpu_resource = "yarn.io/gpu";  ///< the resource type that stands for a GPU
  /// For each job type: other resource types and their amounts, in the cluster's own units.
  std::map<std::string, std::map<std::string, int64_t>> other_resources;
  std::map<std::string, std::string> node_labels;  ///< by job type
  std::map<std::string, jobfile::TypePlacement>
      placements;  ///< of all of the job's types, or empty
  /// True if nodes isolate GPUs: a container then sees only its own, as the devices 0, 1, …
  bool isolated_gpus = false;
};

/// The capability of one of the request's containers.
::hadoop::yarn::ResourceProto CapabilityOf(const core::ContainerRequest& request,
                                           const AllocationOptions& options);

/// The resources in `capability` that core knows.
core::Resources ResourcesOf(const ::hadoop::yarn::ResourceProto& capability,
                            const std::string& gpu_resource);

/// The other resource types in `capability`, in the cluster's own units.
std::map<std::string, int64_t> OthersOf(const ::hadoop::yarn::ResourceProto& capability,
                                        const std::string& gpu_resource);

/// Example: "2048 MiB, 1 core, 2 yarn.io/gpu".
std::string Describe(const ::hadoop::yarn::ResourceProto& capability);

/// The amounts by which `wanted` exceeds `largest`: "8192 MiB of memory, where 4096 MiB is the
/// largest that any node has", or "1 trainer.io/tpu, a resource type that the cluster does not
/// have". Empty if `wanted` fits.
std::string DescribeExcess(const ::hadoop::yarn::ResourceProto& wanted,
                           const ::hadoop::yarn::ResourceProto& largest);

}  // namespace tony::backend
