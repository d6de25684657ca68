// The key-value store through which ranks that have no connection yet exchange addresses.
#pragma once

#include <string>

#include "collective/base/deadline.h"
#include "collective/base/status.h"

namespace tony::collective {

/// Keys and values that all ranks of a job see: those of tony-driver's key-value store, or of
/// torch.distributed's. The implementation keeps the keys of one job, and of one start of it, apart
/// from those of all others. Called by one thread at a time.
class Store {
 public:
  virtual ~Store() = default;

  /// Stores `value` under `key`. It is called once for each key.
  virtual Status Put(const std::string& key, const std::string& value) = 0;
  /// Waits until somebody has put a value under `key`, and returns it.
  /// DeadlineExceeded: nobody has.
  virtual Result<std::string> Get(const std::string& key, Deadline deadline) = 0;
};

}  // namespace tony::collective
