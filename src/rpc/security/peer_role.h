// Reads the role of the peer of an authenticated connection.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/auth_context.h"
#include "rpc/security/role.h"

namespace tony::rpc {

/// The role in the peer's certificate, which TLS has already verified. PermissionDenied – the
/// certificate has no role, a malformed one, or several, or its role belongs to another job than
/// `job_id`.
absl::StatusOr<Role> PeerRole(const grpc::AuthContext& context, const std::string& job_id);

}  // namespace tony::rpc
