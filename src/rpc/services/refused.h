// A call that is refused before it begins.
#pragma once

#include "grpcpp/support/status.h"

namespace tony::rpc {

/// A server's reactor that only says no, and deletes itself when that is done.
template <typename StreamReactor>
class Refused : public StreamReactor {
 public:
  explicit Refused(const grpc::Status& why) { this->Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace tony::rpc
