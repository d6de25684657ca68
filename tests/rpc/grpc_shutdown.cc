// gRPC ends its threads aside. One of them that still runs when OpenSSL cleans up at the process's
// exit would leave what LeakSanitizer reports.
#include <grpc/grpc.h>
#include <gtest/gtest.h>

namespace tony::rpc {
namespace {

class GrpcShutdown : public ::testing::Environment {
 public:
  void TearDown() override {
    grpc_init();
    grpc_shutdown_blocking();
  }
};

[[maybe_unused]] const ::testing::Environment* const kGrpcShutdown =
    ::testing::AddGlobalTestEnvironment(new GrpcShutdown);

}  // namespace
}  // namespace tony::rpc
