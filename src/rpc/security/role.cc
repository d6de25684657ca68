// Converts a Role to its URI and back; parsing accepts exactly what writing produces.
#include "rpc/security/role.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tony::rpc {
namespace {

constexpr char kScheme[] = "tony://";

// The allowed characters need no escaping in a URI and cannot be taken for a separator.
bool IsId(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '.' || c == '_' || c == '-';
  });
}

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("malformed role: ", what));
}

}  // namespace

absl::StatusOr<std::string> Role::ToUri() const {
  if (!IsId(job_id)) return Malformed("the job's id is empty or has unusual characters");
  if ((kind == RoleKind::kExecutor) ? !IsId(container_id) : !container_id.empty()) {
    return Malformed(
        "an executor's container id is empty or has unusual characters, or another role has one");
  }
  switch (kind) {
    case RoleKind::kClient:
      return absl::StrCat(kScheme, job_id, "/client");
    case RoleKind::kApplicationMaster:
      return absl::StrCat(kScheme, job_id, "/am");
    case RoleKind::kExecutor:
      return absl::StrCat(kScheme, job_id, "/executor/", container_id);
  }
  return Malformed("unknown kind");
}

absl::StatusOr<Role> Role::FromUri(const std::string& uri) {
  const size_t scheme_length = sizeof(kScheme) - 1;
  if (uri.compare(0, scheme_length, kScheme) != 0) return Malformed("it is no tony:// URI");
  const std::vector<std::string> parts = absl::StrSplit(uri.substr(scheme_length), '/');
  Role role{.job_id = parts[0]};
  if (parts.size() == 2 && parts[1] == "client") {
    role.kind = RoleKind::kClient;
  } else if (parts.size() == 2 && parts[1] == "am") {
    role.kind = RoleKind::kApplicationMaster;
  } else if (parts.size() == 3 && parts[1] == "executor") {
    role.kind = RoleKind::kExecutor;
    role.container_id = parts[2];
  } else {
    return Malformed("it names neither client, am nor executor/CONTAINER");
  }
  // ToUri() also checks the ids.
  const absl::StatusOr<std::string> canonical = role.ToUri();
  if (!canonical.ok()) return canonical.status();
  return role;
}

Role ClientRole(const std::string& job_id) { return {.job_id = job_id, .kind = RoleKind::kClient}; }

Role ApplicationMasterRole(const std::string& job_id) {
  return {.job_id = job_id, .kind = RoleKind::kApplicationMaster};
}

Role ExecutorRole(const std::string& job_id, const std::string& container_id) {
  return {.job_id = job_id, .kind = RoleKind::kExecutor, .container_id = container_id};
}

}  // namespace tony::rpc
