// Admission to one machine's containers: strictly first in, first out, and all or nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/job_description.h"
#include "core/ports/cluster_backend.h"
#include "core/schedule/capacity.h"

namespace tony::core {

/// The resources that one container was given.
struct Grant {
  Resources resources;
  std::vector<int> gpus;  ///< indices of the devices, as many as resources.gpus

  bool operator==(const Grant&) const = default;
};

/// A job's share of the machine, and the containers that it waits for.
struct Claim {
  std::string job_id;
  int64_t pid = 0;     ///< pid of its ApplicationMaster, for people only
  int64_t ticket = 0;  ///< a smaller ticket is earlier; valid while something is wanted
  std::vector<Grant> held;
  std::vector<ContainerRequest> wanted;  ///< granted all or none; empty: not in the queue

  bool operator==(const Claim&) const = default;
};

/// One grant for each wanted container, in the order of the requests.
struct Admitted {
  std::vector<Grant> containers;
};

struct MustWait {
  std::string sentence;  ///< which resource is short and its holders, or the jobs ahead
  std::string unblock;   ///< event that would end the wait
};

struct NeverFits {
  std::string sentence;  ///< the request, the machine's total, and what to do
};

using Admission = std::variant<Admitted, MustWait, NeverFits>;

/// nullopt when `requests` together could run on an otherwise empty machine.
std::optional<NeverFits> CheckFits(const Capacity& capacity,
                                   const std::vector<ContainerRequest>& requests);

/// Decides about the containers that `own` wants. `others`: the claims of all other jobs. Memory
/// and GPUs are hard limits, and GPUs are exclusive; vcores are hard only if the capacity says so.
///
/// 1. Held and wanted resources together must fit into the machine's total; otherwise the job never
///    fits.
/// 2. A job waits while another one with a smaller ticket wants something, even if it would fit
///    beside it: a large job must not starve behind small ones.
/// 3. A job waits while the wanted sum of any hard resource exceeds the free amount.
/// 4. Otherwise each container gets the lowest free GPU indices, in the order of the requests.
Admission Admit(const Capacity& capacity, const Claim& own, const std::vector<Claim>& others);

}  // namespace tony::core
