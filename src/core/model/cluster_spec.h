// The cluster spec: the addresses of all tasks of one epoch.
#pragma once

#include <string>
#include <vector>

#include "core/model/task_id.h"

namespace tony::core {

/// The address of one task, and the identity of its host and devices.
struct Endpoint {
  TaskId task;
  std::string host;
  int port = 0;
  std::string host_id;   ///< equal for two tasks exactly when they are on one host
  std::string devices;   ///< GPUs that the task sees, e.g. "0,1"; empty: none
  bool sidecar = false;  ///< true: left out of what programs see

  bool operator==(const Endpoint&) const = default;
  /// The form "host:port"; IPv6 addresses in brackets.
  std::string Address() const;
};

/// The endpoints in the order of the job's types, then by index. Plain data.
struct ClusterSpec {
  std::vector<Endpoint> endpoints;

  bool operator==(const ClusterSpec&) const = default;

  /// TonY's JSON form: {"ps":["h:p"],"worker":["h:p","h:p"]}, without sidecars and the types in
  /// `without`.
  std::string ToJson(const std::vector<std::string>& without = {}) const;
  /// Null when there is no such task.
  const Endpoint* Find(const TaskId& task) const;
};

/// A process's place among those of its type that see the same devices on the same host.
struct LocalRank {
  int rank = 0;
  int size = 1;
};

/// The task's local rank. Where each process has its own GPUs, each is alone (rank 0 of 1). The
/// task must be in the spec.
LocalRank LocalRankOf(const ClusterSpec& spec, const TaskId& task);

}  // namespace tony::core
