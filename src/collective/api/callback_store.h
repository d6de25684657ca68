// A Store whose functions the user of the C API provides.
#pragma once

#include <string>

#include "collective/meeting/store.h"
#include "tony/collective.h"

namespace tony::collective {

/// Passes each call on to the user's callbacks. Not thread safe.
class CallbackStore : public Store {
 public:
  explicit CallbackStore(const tony_collective_store& store) : store_(store) {}

  Status Put(const std::string& key, const std::string& value) override;
  Result<std::string> Get(const std::string& key, Deadline deadline) override;

 private:
  const tony_collective_store store_;
};

}  // namespace tony::collective
