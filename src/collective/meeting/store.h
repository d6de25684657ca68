// Where ranks that have no connection yet tell each other their addresses.
#pragma once

#include <string>

#include "collective/base/deadline.h"
#include "collective/base/status.h"

namespace tony::collective {

/// Keys and values that all ranks of a job see: of tony-driver's key-value store, or of
/// torch.distributed's. Whoever writes it keeps the keys of one job, and of one start of it, apart
/// from all others'. Called by one thread at a time.
class Store {
 public:
  virtual ~Store() = default;

  /// Once for each key.
  virtual Status Put(const std::string& key, const std::string& value) = 0;
  /// As soon as somebody has put it.
  /// DeadlineExceeded: nobody has.
  virtual Result<std::string> Get(const std::string& key, Deadline deadline) = 0;
};

}  // namespace tony::collective
