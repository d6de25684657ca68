// The ApplicationMaster's side of executors' streams, for tests that ask how many there were.
#pragma once

#include <atomic>

#include "rpc/services/executor_service.h"

namespace tony::executor {

class CountingService : public rpc::ExecutorService {
 public:
  using ExecutorService::ExecutorService;

  grpc::ServerBidiReactor<v1::ExecutorMessage, v1::MasterMessage>* Attach(
      grpc::CallbackServerContext* context) override {
    ++streams;
    return ExecutorService::Attach(context);
  }

  std::atomic<int> streams = 0;
};

}  // namespace tony::executor
