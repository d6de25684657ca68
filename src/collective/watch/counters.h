// What a rank has done so far, and how long it took.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "collective/base/status.h"
#include "collective/request/request.h"

namespace tony::collective {

/// Since the ranks have met. A value.
struct Counters {
  std::array<int64_t, kOperations> tensors{};  ///< done well, by Operation
  std::array<int64_t, kOperations> bytes{};    ///< of this rank's tensors among them
  int64_t operations = 0;  ///< as which they were done: fewer, as tensors are fused
  int64_t failed = 0;      ///< tensors
  int64_t by_number = 0;   ///< submitted by a number that rank 0 knows
  int64_t by_request = 0;  ///< submitted with all that is to be said of them
  /// In which at least one tensor of this rank waited for other ranks, or to be decided on.
  std::chrono::nanoseconds negotiation{0};
  /// Of decisions, until the ones before were done.
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds operation{0};   ///< in which operations ran
  std::chrono::nanoseconds waited_for{0};  ///< in which others waited for this rank alone
  /// Of rank 0: the same of each rank. What others know of themselves is what it has told them
  /// last.
  std::vector<std::chrono::nanoseconds> waited_for_ranks;

  /// "NAME NUMBER" line by line, for the executor: its names are those of src/executor's
  /// collective_counters.h.
  std::string Text() const;
};

/// As a whole or not at all: whoever reads `path` meanwhile reads what was there before. Internal:
/// it cannot be written; names it.
Status Replace(const std::string& path, const std::string& contents);

}  // namespace tony::collective
