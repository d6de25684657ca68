// The tensors that a caller submits to the engine, and the outputs that it gets back.
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

/// A result whose size is known only from all ranks' requests.
struct Output {
  /// Memory of the device that the request names. The pointer keeps the allocation that it is part
  /// of alive.
  std::shared_ptr<std::byte[]> data;
  std::vector<int64_t> shape;
  std::vector<int64_t> splits;  ///< of all-to-all: number of rows received from each rank
  SetId set = kAllRanks;        ///< of an added process set: its number
};

// Callbacks come from the data thread, the links' thread, or the thread that looks after GPUs. A
// callback may submit, but must not wait.
using OnDone = std::function<void(const Status&)>;
/// The output is empty if the status is an error.
using OnOutput = std::function<void(const Status&, Output)>;

/// The part of a submission that only a tensor on a GPU has.
struct GpuPart {
  /// A cudaEvent_t after which the memory holds the tensor's data; null: it does already. The event
  /// must exist until `on_issued` or the tensor's callback.
  CUevent_st* ready = nullptr;
  /// Called as soon as the GPU has been given the operation, before the tensor's callback. `done`
  /// fires when the operation has ended, well or not; then the output, if there is one, can be
  /// read.
  std::function<void(std::shared_ptr<Event> done, const Output&)> on_issued;
};

/// One rank's tensor, with the memory that its operation (`request.kind.operation`) reads and
/// writes.
struct Tensor {
  Request request;
  const void* in = nullptr;  ///< input of all operations but broadcast and barrier
  void* out = nullptr;       ///< output of allreduce; data of broadcast
  OnDone on_done;            ///< of allreduce, broadcast, barrier and the removal of a set
  OnOutput on_output;        ///< of the other operations
  GpuPart gpu;               ///< for tensors on GPUs
  bool joined = false;       ///< this rank has no such tensor, since it has joined

  /// Whether this rank has submitted the tensor.
  bool submitted() const { return on_done || on_output; }
  /// Calls the tensor's callback, if there is one.
  void Tell(const Status& status, Output output) const {
    if (on_done) on_done(status);
    if (on_output) on_output(status, std::move(output));
  }
};

}  // namespace tony::collective
