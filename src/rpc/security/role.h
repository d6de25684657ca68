// Who a certificate of a job stands for: its client, its ApplicationMaster, or the executor of one
// container.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::rpc {

enum class RoleKind {
  kClient,             ///< tony-submit and the verbs: follows and stops the job
  kApplicationMaster,  ///< the one server
  kExecutor,           ///< tony-executor in one container
};

/// One identity within one job. Written into a certificate as the URI `tony://JOB/client`,
/// `tony://JOB/am` or `tony://JOB/executor/CONTAINER`. Not thread safe (plain data).
struct Role {
  std::string job_id;
  RoleKind kind = RoleKind::kClient;
  std::string container_id;  ///< of an executor only

  bool operator==(const Role&) const = default;

  /// InvalidArgument – the job's or container's id is empty, or has other characters than letters,
  /// digits, `.`, `_` and `-`, or a container's id stands where there is none.
  absl::StatusOr<std::string> ToUri() const;
  /// InvalidArgument – `uri` is not exactly what ToUri() writes.
  static absl::StatusOr<Role> FromUri(const std::string& uri);
};

Role ClientRole(const std::string& job_id);
Role ApplicationMasterRole(const std::string& job_id);
Role ExecutorRole(const std::string& job_id, const std::string& container_id);

}  // namespace tony::rpc
