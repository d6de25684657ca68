// Reads who is at the other end of an authenticated connection.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/security/auth_context.h"
#include "rpc/security/role.h"

namespace tony::rpc {

/// The role in the peer's certificate, which TLS has already verified.
/// PermissionDenied – there is none, it is malformed, there are several, or it belongs to another
/// job than `job_id`.
absl::StatusOr<Role> PeerRole(const grpc::AuthContext& context, const std::string& job_id);

}  // namespace tony::rpc
