// What a job holds and wants of a machine, and the answers that it may get.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/model/job_description.h"
#include "core/ports/cluster_backend.h"

namespace tony::core {

/// The resources that one container was given.
struct Grant {
  Resources resources;
  std::vector<int> gpus;  ///< indices of the devices, as many as resources.gpus

  bool operator==(const Grant&) const = default;
};

/// The most that all jobs of one user may hold together; nullopt: no limit. A plain value.
struct Limits {
  std::optional<int64_t> memory_mb;
  std::optional<int64_t> vcores;
  std::optional<int64_t> gpus;

  bool operator==(const Limits&) const = default;
};

/// The largest ticket. Only a claim that somebody made up has it: the jobs that come after it share
/// this ticket, and have no order among themselves.
inline constexpr int64_t kMostTicket = int64_t{1} << 60;

/// A job's share of the machine, and the containers that it waits for.
struct Claim {
  std::string job_id;
  std::string user;    ///< another user whose job it is; empty: it is this user's
  int64_t pid = 0;     ///< pid of its ApplicationMaster, for people only
  int64_t ticket = 0;  ///< a smaller ticket is earlier; valid while something is wanted
  std::vector<Grant> held;
  std::vector<ContainerRequest> wanted;  ///< granted all or none; empty: not in the queue
  Limits limits;                         ///< of the job's user

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

}  // namespace tony::core
