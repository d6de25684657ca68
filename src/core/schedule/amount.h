// Sums of resources, and the table of the kinds of resources that admission counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/schedule/claim.h"

namespace tony::core {

/// Sums stay below this value. Other users' claims may say anything (claim_json.cc bounds only each
/// number), and a sum must not overflow.
inline constexpr int64_t kMostSum = int64_t{1} << 60;

/// A sum of Resources. A plain value.
struct Amount {
  int64_t memory_mb = 0;
  int64_t vcores = 0;
  int64_t gpus = 0;

  void Add(const Resources& resources, int64_t count) {
    memory_mb = std::min(memory_mb + resources.memory_mb * count, kMostSum);
    vcores = std::min(vcores + resources.vcores * count, kMostSum);
    gpus = std::min(gpus + resources.gpus * count, kMostSum);
  }
};

/// A kind of resource with its name and its configuration keys. A plain value.
struct Dimension {
  int64_t Amount::*member;
  std::optional<int64_t> Limits::*limit;
  const char* singular;
  const char* plural;
  const char* type_key;   ///< key that requests it: tony.TYPE.…
  const char* total_key;  ///< key that declares the machine's total
  const char* limit_key;  ///< key that limits a user's share

  int64_t Of(const Amount& amount) const { return amount.*member; }
  std::string Show(int64_t number) const {
    return absl::StrCat(number, " ", number == 1 ? singular : plural);
  }
};

inline constexpr Dimension kGpus = {
    &Amount::gpus, &Limits::gpus, "GPU", "GPUs", "gpus", "tony.local.gpus", "tony.local.user-gpus",
};
inline constexpr Dimension kMemory = {
    &Amount::memory_mb, &Limits::memory_mb,  "MiB of memory",          "MiB of memory",
    "memory",           "tony.local.memory", "tony.local.user-memory",
};
inline constexpr Dimension kVcores = {
    &Amount::vcores,     &Limits::vcores,          "vcore", "vcores", "vcores",
    "tony.local.vcores", "tony.local.user-vcores",
};

/// What a claim holds. GPUs are counted by their indices, as admission gives them out.
Amount HeldBy(const Claim& claim);
/// What the requests want together.
Amount WantedIn(const std::vector<ContainerRequest>& requests);

}  // namespace tony::core
