// Every code of a status crosses gRPC as the same code.
#include "rpc/convert/status_convert.h"

#include <gtest/gtest.h>

namespace tony::rpc {
namespace {

TEST(StatusConvertTest, EveryErrorComesBackWithItsMessage) {
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    const absl::Status sent(static_cast<absl::StatusCode>(code), "worker:0 is gone");
    const grpc::Status on_the_wire = ToGrpc(sent);
    EXPECT_FALSE(on_the_wire.ok());
    EXPECT_EQ(on_the_wire.error_message(), "worker:0 is gone");
    EXPECT_EQ(FromGrpc(on_the_wire), sent);
  }
  EXPECT_EQ(ToGrpc(absl::NotFoundError("")).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(ToGrpc(absl::UnavailableError("")).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST(StatusConvertTest, OkIsOk) {
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_EQ(FromGrpc(grpc::Status::OK), absl::OkStatus());
}

TEST(StatusConvertTest, ACodeThatIsNoneOfGrpcsIsUnknown) {
  const absl::Status status = FromGrpc(grpc::Status(static_cast<grpc::StatusCode>(20), "new"));
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(status.message(), "new");
}

}  // namespace
}  // namespace tony::rpc
