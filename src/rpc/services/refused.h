// A call that is refused before it begins.
#pragma once

#include "grpcpp/support/status.h"

namespace tony::rpc {

/// A server reactor that finishes the call with `why` and deletes itself when gRPC is done with it.
/// Not thread safe: a gRPC thread calls OnDone() once.
template <typename StreamReactor>
class Refused : public StreamReactor {
 public:
  explicit Refused(const grpc::Status& why) { this->Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace tony::rpc
