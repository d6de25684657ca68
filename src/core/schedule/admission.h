// Decides whether the job at the head of one machine's queue may start: strictly first in, first
// out, all or nothing.
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

/// What one container was given.
struct Grant {
  Resources resources;
  std::vector<int> gpus;  ///< indices, as many as resources.gpus

  bool operator==(const Grant&) const = default;
};

/// What one job has of the machine and what more it waits for.
struct Claim {
  std::string job_id;
  int64_t pid = 0;     ///< of its ApplicationMaster; shown only
  int64_t ticket = 0;  ///< smaller asked earlier; meaningful while something is wanted
  std::vector<Grant> held;
  std::vector<ContainerRequest> wanted;  ///< all or nothing; empty: not in the queue

  bool operator==(const Claim&) const = default;
};

/// One grant for each wanted container, in the order of the requests.
struct Admitted {
  std::vector<Grant> containers;
};

struct MustWait {
  std::string sentence;  ///< what is short and who holds it, or who is ahead
  std::string unblock;   ///< what would end the wait
};

struct NeverFits {
  std::string sentence;  ///< the request, the machine's total, and what to do
};

using Admission = std::variant<Admitted, MustWait, NeverFits>;

/// Whether `requests` together could run on an otherwise empty machine.
std::optional<NeverFits> CheckFits(const Capacity& capacity,
                                   const std::vector<ContainerRequest>& requests);

/// Decides about what `own` wants, beside `others`, the claims of all other jobs. Memory and GPUs
/// are hard, GPUs exclusive; vcores count only where the capacity makes them hard.
///
/// 1. What the job holds and wants together must fit into the machine's total, else it never fits.
/// 2. A job waits as long as another one with a smaller ticket wants something, even if it would
/// fit beside it: a
///    large job must not starve behind small ones.
/// 3. It waits as long as the wanted sum of any hard resource exceeds what nobody holds.
/// 4. Otherwise each container gets the lowest free GPU indices, in the order of the requests.
Admission Admit(const Capacity& capacity, const Claim& own, const std::vector<Claim>& others);

}  // namespace tony::core
