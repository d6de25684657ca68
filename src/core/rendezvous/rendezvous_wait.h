// For whom processes of a Horovod job wait, as its driver says it.
#pragma once

#include <string>
#include <vector>

#include "core/rendezvous/slot_plan.h"

namespace tony::core {

struct RendezvousWait {
  std::string sentence;              ///< for people; empty: nobody waits
  std::vector<std::string> missing;  ///< the tasks that are waited for: "worker:3"

  bool operator==(const RendezvousWait&) const = default;
};

/// "worker:3 (rank 3 on b)"
std::string NameOfRank(const std::string& task, const Slot& slot);

}  // namespace tony::core
