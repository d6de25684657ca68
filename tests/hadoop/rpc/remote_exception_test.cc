// Tests the status code of a Java exception, and which part of its text is kept.
#include "hadoop/rpc/remote_exception.h"

#include <gtest/gtest.h>

#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

using absl::StatusCode;

TEST(RemoteException, HasACodeByItsClass) {
  const std::pair<const char*, StatusCode> cases[] = {
      {"org.apache.hadoop.ipc.StandbyException", StatusCode::kUnavailable},
      {"org.apache.hadoop.ipc.RetriableException", StatusCode::kUnavailable},
      {"org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException",
       StatusCode::kFailedPrecondition},
      {"org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException",
       StatusCode::kNotFound},
      {"org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException",
       StatusCode::kInvalidArgument},
      {"org.apache.hadoop.security.token.SecretManager$InvalidToken", StatusCode::kUnauthenticated},
      {"org.apache.hadoop.security.AccessControlException", StatusCode::kPermissionDenied},
      {"org.apache.hadoop.hdfs.protocol.DSQuotaExceededException", StatusCode::kResourceExhausted},
      {"org.apache.hadoop.ipc.RpcNoSuchMethodException", StatusCode::kUnimplemented},
      {"java.lang.NullPointerException", StatusCode::kUnknown},
      {"", StatusCode::kUnknown}};
  for (const auto& [name, code] : cases) {
    EXPECT_EQ(RemoteException(name, "reason").code(), code) << name;
  }
}

// The server says AccessControlException for both.
TEST(RemoteException, TellsWhoIsUnknownFromWhoMayNot) {
  EXPECT_EQ(RemoteException("x.AccessControlException",
                            "SIMPLE authentication is not enabled.  Available:[TOKEN]")
                .code(),
            StatusCode::kUnauthenticated);
}

TEST(RemoteException, KeepsTheFirstLineAndTheClass) {
  const absl::Status status =
      RemoteException("a.b.StandbyException", "not active\n\tat a.b.C.d(C.java:1)");
  EXPECT_EQ(status.message(), "StandbyException: not active");
  EXPECT_EQ(RemoteExceptionName(Annotate(status, "allocate")), "StandbyException");
  EXPECT_EQ(RemoteException("", "").message(), "the server's refusal: no reason");
  EXPECT_EQ(RemoteExceptionName(absl::UnavailableError("ours")), "");
}

}  // namespace
}  // namespace tony::hadoop
