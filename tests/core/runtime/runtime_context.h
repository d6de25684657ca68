// A small cluster and a task's context in it, for the tests of runtimes.
#pragma once

#include <string>

#include "core/runtime/runtime.h"

namespace tony::core {

inline Endpoint EndpointAt(const std::string& type, int index, const std::string& host, int port) {
  Endpoint endpoint;
  endpoint.task = {type, index};
  endpoint.host = host;
  endpoint.port = port;
  endpoint.host_id = "boot-of-" + host;
  return endpoint;
}

/// The context of `type`:`index` in `cluster`; everything else has a value of its own.
inline TaskContext ContextFor(Framework framework, const std::string& type, int index,
                              ClusterSpec cluster) {
  TaskContext context;
  context.task = {type, index};
  context.framework = framework;
  context.job_id = "job-7";
  context.container_id = "job-7-c0003";
  context.epoch = 2;
  context.attempt = 3;
  context.tracked_tasks = 4;
  context.checkpoint_folder = "/checkpoints";
  context.cluster = std::move(cluster);
  return context;
}

/// The variable's value, or "(unset)".
inline std::string ValueOf(const Environment& environment, const std::string& name) {
  auto found = environment.find(name);
  return found == environment.end() ? "(unset)" : found->second;
}

}  // namespace tony::core
