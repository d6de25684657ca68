// Who is where: the addresses of all tasks of one epoch.
#pragma once

#include <string>
#include <vector>

#include "core/model/task_id.h"

namespace tony::core {

/// One task's address and what it shares with others on its host.
struct Endpoint {
  TaskId task;
  std::string host;
  int port = 0;
  std::string host_id;   ///< equal exactly for tasks of one host
  std::string devices;   ///< the set of GPUs the task sees, e.g. "0,1"; empty: none
  bool sidecar = false;  ///< not part of what programs see

  bool operator==(const Endpoint&) const = default;
  /// "host:port"; IPv6 addresses in brackets.
  std::string Address() const;
};

/// The endpoints in the order of the job's types, then by index. Plain data.
struct ClusterSpec {
  std::vector<Endpoint> endpoints;

  bool operator==(const ClusterSpec&) const = default;

  /// TonY's form: {"ps":["h:p"],"worker":["h:p","h:p"]}, without sidecars and without types named
  /// in `without`.
  std::string ToJson(const std::vector<std::string>& without = {}) const;
  /// Null when there is no such task.
  const Endpoint* Find(const TaskId& task) const;
};

/// A process's place among those of one type that see the same devices on the same host.
struct LocalRank {
  int rank = 0;
  int size = 1;
};

/// Where each process has its own GPUs, each counts as alone (rank 0 of 1). The task must be in the
/// spec.
LocalRank LocalRankOf(const ClusterSpec& spec, const TaskId& task);

}  // namespace tony::core
