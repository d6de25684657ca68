// The tasks that the processes of a Horovod job wait for, as the driver reports them.
#pragma once

#include <string>
#include <vector>

#include "core/rendezvous/slot_plan.h"

namespace tony::core {

struct RendezvousWait {
  std::string sentence;              ///< for people; empty: no process waits
  std::vector<std::string> missing;  ///< the tasks that the others wait for, such as "worker:3"

  bool operator==(const RendezvousWait&) const = default;
};

/// "worker:3 (rank 3 on b)"
std::string NameOfRank(const std::string& task, const Slot& slot);

}  // namespace tony::core
