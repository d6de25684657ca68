// What happens to tensors, for the timeline.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/request/request.h"

namespace tony::collective {

/// What several events are about: a decision.
struct TraceStep {
  struct Tensor {
    std::string name;
    int64_t bytes = 0;  ///< of this rank's
  };

  int64_t number = 0;  ///< of the decision, on all ranks the same; from 1
  Kind kind;
  std::vector<Tensor> tensors;
};

struct TraceEvent {
  enum class Kind : uint8_t {
    kSubmitted,  ///< `name`, by this rank, for `operation`
    kArrived,    ///< `name` of the rank `rank` at rank 0
    kDecided,    ///< `step`: it waits for the data thread
    kStarted,    ///< `step`: the data thread does it
    kDone,       ///< `step`; `name`: what went wrong, or empty
    kFailed,     ///< `name`: it will not be decided on any more
    kCycle,      ///< rank 0 has looked what is ready, and found something
  };

  Kind kind = Kind::kSubmitted;
  Deadline at;
  std::string name = {};
  int rank = -1;
  Operation operation = Operation::kAllReduce;
  std::shared_ptr<const TraceStep> step = {};
};

}  // namespace tony::collective
