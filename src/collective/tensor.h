// What a caller submits, and what it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collective/request.h"
#include "collective/status.h"

namespace tony::collective {

/// A result that only the ranks together know.
struct Output {
  std::unique_ptr<std::byte[]> data;
  std::vector<int64_t> shape;
  std::vector<int64_t> splits;  ///< of all-to-all: rows that have come from each rank
  SetId set = kAllRanks;        ///< of a process set that was added: its number
};

// From the data thread, or the links': may submit, but not wait.
using OnDone = std::function<void(const Status&)>;
/// With an error the output is empty.
using OnOutput = std::function<void(const Status&, Output)>;

/// One rank's tensor with what its operation (`request.kind.operation`) reads and writes.
struct Tensor {
  Request request;
  const void* in = nullptr;  ///< of all but broadcast and barrier
  void* out = nullptr;       ///< of allreduce and broadcast
  OnDone on_done;            ///< of allreduce, broadcast and barrier
  OnOutput on_output;        ///< of the others

  /// False: this rank has no such tensor.
  bool submitted() const { return on_done || on_output; }
  void Tell(const Status& status, Output output) const {
    if (on_done) on_done(status);
    if (on_output) on_output(status, std::move(output));
  }
};

}  // namespace tony::collective
