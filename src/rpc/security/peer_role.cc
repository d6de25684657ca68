// Reads the URI in the certificate through gRPC's AuthContext.
#include "rpc/security/peer_role.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/grpc_security_constants.h"

namespace tony::rpc {

absl::StatusOr<Role> PeerRole(const grpc::AuthContext& context, const std::string& job_id) {
  const std::vector<grpc::string_ref> uris =
      context.FindPropertyValues(GRPC_PEER_URI_PROPERTY_NAME);
  if (!context.IsPeerAuthenticated() || uris.size() != 1) {
    return absl::PermissionDeniedError("the peer has no certificate with exactly one role");
  }
  absl::StatusOr<Role> role = Role::FromUri(std::string(uris[0].data(), uris[0].size()));
  if (!role.ok()) {
    return absl::PermissionDeniedError(
        absl::StrCat("the peer's certificate has a ", std::string(role.status().message())));
  }
  if (role->job_id != job_id) {
    return absl::PermissionDeniedError(
        absl::StrCat("the peer's certificate is of job ", role->job_id, ", not of ", job_id));
  }
  return role;
}

}  // namespace tony::rpc
