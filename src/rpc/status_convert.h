// gRPC's status as absl::Status, whose codes are the same numbers.
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace tony::rpc {

inline absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace tony::rpc
