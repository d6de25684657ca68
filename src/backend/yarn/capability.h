// What a container is to have, in YARN's words.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/model/job_description.h"
#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/records.pb.h"
#include "jobfile/job/yarn_settings.h"

namespace tony::backend {

/// How the job's types are asked for. A plain value.
struct AllocationOptions {
  std::string gpu_resource = "yarn.io/gpu";  ///< the resource type that a GPU is
  /// By the job's type: other resource types and their amounts, in the cluster's own units.
  std::map<std::string, std::map<std::string, int64_t>> other_resources;
  std::map<std::string, std::string> node_labels;  ///< by the job's type
  std::map<std::string, jobfile::TypePlacement>
      placements;  ///< of all of the job's types, or empty
  /// A container sees its own GPUs only, as the devices 0, 1, …
  bool isolated_gpus = false;
};

/// Of one of the request's containers.
::hadoop::yarn::ResourceProto CapabilityOf(const core::ContainerRequest& request,
                                           const AllocationOptions& options);

/// The part of it that core knows.
core::Resources ResourcesOf(const ::hadoop::yarn::ResourceProto& capability,
                            const std::string& gpu_resource);

/// The rest of it: resource types, in the cluster's own units.
std::map<std::string, int64_t> OthersOf(const ::hadoop::yarn::ResourceProto& capability,
                                        const std::string& gpu_resource);

/// "2048 MiB, 1 core, 2 yarn.io/gpu".
std::string Describe(const ::hadoop::yarn::ResourceProto& capability);

/// What `wanted` has more of than `largest`: "8192 MiB of memory, where 4096 MiB is the largest
/// that any node has", "1 trainer.io/tpu, a resource type that the cluster does not have"; empty
/// when it fits.
std::string DescribeExcess(const ::hadoop::yarn::ResourceProto& wanted,
                           const ::hadoop::yarn::ResourceProto& largest);

}  // namespace tony::backend
