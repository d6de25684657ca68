// A table maps class names to codes. The class name is kept as a payload of the status.
#include "hadoop/rpc/remote_exception.h"

#include <array>
#include <string_view>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::hadoop {
namespace {

constexpr char kPayload[] = "tony.hadoop/exception";

struct Row {
  std::string_view name;
  absl::StatusCode code;
};

using absl::StatusCode;

constexpr Row kRows[] = {
    {"StandbyException", StatusCode::kUnavailable},
    {"RetriableException", StatusCode::kUnavailable},
    {"NMNotYetReadyException", StatusCode::kUnavailable},
    {"SafeModeException", StatusCode::kUnavailable},
    {"ServerNotRunningYetException", StatusCode::kUnavailable},
    {"ApplicationNotFoundException", StatusCode::kNotFound},
    {"ApplicationAttemptNotFoundException", StatusCode::kNotFound},
    {"ContainerNotFoundException", StatusCode::kNotFound},
    {"FileNotFoundException", StatusCode::kNotFound},
    {"InvalidToken", StatusCode::kUnauthenticated},
    {"SaslException", StatusCode::kUnauthenticated},
    {"AuthenticationException", StatusCode::kUnauthenticated},
    {"AccessControlException", StatusCode::kPermissionDenied},
    {"AuthorizationException", StatusCode::kPermissionDenied},
    {"SecurityException", StatusCode::kPermissionDenied},
    {"FileAlreadyExistsException", StatusCode::kAlreadyExists},
    {"InvalidResourceRequestException", StatusCode::kInvalidArgument},
    {"InvalidResourceBlacklistRequestException", StatusCode::kInvalidArgument},
    {"InvalidLabelResourceRequestException", StatusCode::kInvalidArgument},
    {"InvalidContainerReleaseException", StatusCode::kInvalidArgument},
    {"SchedulerInvalidResoureRequestException", StatusCode::kInvalidArgument},  // older Hadoop
    {"SchedulerInvalidResourceRequestException", StatusCode::kInvalidArgument},
    {"InvalidPathException", StatusCode::kInvalidArgument},
    {"IllegalArgumentException", StatusCode::kInvalidArgument},
    {"ResourceNotFoundException", StatusCode::kInvalidArgument},
    {"ApplicationMasterNotRegisteredException", StatusCode::kFailedPrecondition},
    {"InvalidApplicationMasterRequestException", StatusCode::kFailedPrecondition},
    {"ApplicationIdNotProvidedException", StatusCode::kFailedPrecondition},
    {"NSQuotaExceededException", StatusCode::kResourceExhausted},
    {"DSQuotaExceededException", StatusCode::kResourceExhausted},
    {"QuotaByStorageTypeExceededException", StatusCode::kResourceExhausted},
    {"RpcNoSuchMethodException", StatusCode::kUnimplemented},
    {"RpcNoSuchProtocolException", StatusCode::kUnimplemented},
    {"UnsupportedOperationException", StatusCode::kUnimplemented},
};

// "org.apache.hadoop.security.token.SecretManager$InvalidToken" → "InvalidToken".
std::string WithoutPackage(const std::string& class_name) {
  return class_name.substr(class_name.find_last_of(".$") + 1);
}

StatusCode CodeOf(const std::string& name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.code;
  }
  return StatusCode::kUnknown;
}

}  // namespace

absl::Status RemoteException(const std::string& class_name, const std::string& message) {
  const std::string name = WithoutPackage(class_name);
  const std::string first_line = message.substr(0, message.find('\n'));
  // Hadoop throws AccessControlException both when the user lacks a permission and when the
  // connection is not authenticated at all. Only the text tells them apart.
  const bool unknown_user = name == "AccessControlException" &&
                            absl::StrContains(first_line, "authentication is not enabled");
  absl::Status status(unknown_user ? StatusCode::kUnauthenticated : CodeOf(name),
                      absl::StrCat(name.empty() ? "the server's refusal" : name, ": ",
                                   first_line.empty() ? "no reason" : first_line));
  status.SetPayload(kPayload, absl::Cord(name));
  return status;
}

std::string RemoteExceptionName(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  return payload.has_value() ? std::string(*payload) : "";
}

}  // namespace tony::hadoop
