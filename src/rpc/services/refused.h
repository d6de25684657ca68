// A call that is refused before it begins.
#pragma once

#include <string>

#include "common/logging.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"

namespace tony::rpc {

/// Logs, at most once a second, that a call of the job `job_id` is refused.
inline void LogRefusal(LogLimit& log, const grpc::CallbackServerContext& context,
                       const std::string& job_id, const std::string& why) {
  log.Log(LogLevel::kWarning, "a call is refused",
          {{"job", job_id}, {"peer", context.peer()}, {"why", why}});
}

/// A server reactor that finishes the call with `why` and deletes itself when gRPC is done with it.
/// Not thread safe: a gRPC thread calls OnDone() once.
template <typename StreamReactor>
class Refused : public StreamReactor {
 public:
  explicit Refused(const grpc::Status& why) { this->Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace tony::rpc
