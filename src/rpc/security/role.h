// The role for which a certificate of a job stands: the client, the ApplicationMaster, or the
// executor of one container.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::rpc {

enum class RoleKind {
  kClient,             ///< tony-submit and the other commands: follows and stops the job
  kApplicationMaster,  ///< tony-am: the job's only server
  kExecutor,           ///< tony-executor in one container
};

/// One identity within one job. A certificate holds it as the URI `tony://JOB/client`,
/// `tony://JOB/am` or `tony://JOB/executor/CONTAINER`. Not thread safe (plain data).
struct Role {
  std::string job_id;
  RoleKind kind = RoleKind::kClient;
  std::string container_id;  ///< empty unless the role is an executor's

  bool operator==(const Role&) const = default;

  /// InvalidArgument – the job's or container's id is empty or has other characters than letters,
  /// digits, `.`, `_` and `-`; or a role that is not an executor's has a container id.
  absl::StatusOr<std::string> ToUri() const;
  /// InvalidArgument – `uri` is not exactly what ToUri() writes.
  static absl::StatusOr<Role> FromUri(const std::string& uri);
};

Role ClientRole(const std::string& job_id);
Role ApplicationMasterRole(const std::string& job_id);
Role ExecutorRole(const std::string& job_id, const std::string& container_id);

}  // namespace tony::rpc
