// What a caller submits, and what it gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collective/base/status.h"
#include "collective/request/request.h"

struct CUevent_st;

namespace tony::collective {

class Event;

/// A result that only the ranks together know.
struct Output {
  /// Of the device that the request names. What it is part of lives as long as it.
  std::shared_ptr<std::byte[]> data;
  std::vector<int64_t> shape;
  std::vector<int64_t> splits;  ///< of all-to-all: rows that have come from each rank
  SetId set = kAllRanks;        ///< of a process set that was added: its number
};

// From the data thread, the links', or the one that looks after GPUs: may submit, but not wait.
using OnDone = std::function<void(const Status&)>;
/// With an error the output is empty.
using OnOutput = std::function<void(const Status&, Output)>;

/// What a tensor of a GPU has besides.
struct GpuPart {
  /// A cudaEvent_t after which the memory holds what it should; null: it does already. Must exist
  /// until `on_issued` or the end.
  CUevent_st* ready = nullptr;
  /// As soon as the GPU has been given the operation: `done` fires when it has come to its end,
  /// well or not, and the output, if there is one, can be read then. Before the other callback.
  std::function<void(std::shared_ptr<Event> done, const Output&)> on_issued;
};

/// One rank's tensor with what its operation (`request.kind.operation`) reads and writes.
struct Tensor {
  Request request;
  const void* in = nullptr;  ///< of all but broadcast and barrier
  void* out = nullptr;       ///< of allreduce and broadcast
  OnDone on_done;            ///< of allreduce, broadcast and barrier
  OnOutput on_output;        ///< of the others
  GpuPart gpu;               ///< of tensors of GPUs
  bool joined = false;       ///< this rank has none, since it has no more data

  /// False: this rank has no such tensor.
  bool submitted() const { return on_done || on_output; }
  void Tell(const Status& status, Output output) const {
    if (on_done) on_done(status);
    if (on_output) on_output(status, std::move(output));
  }
};

}  // namespace tony::collective
