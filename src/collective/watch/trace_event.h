// The events of a timeline: what happens to tensors, and when.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collective/base/deadline.h"
#include "collective/request/request.h"

namespace tony::collective {

/// A decision, which several events refer to.
struct TraceStep {
  struct Tensor {
    std::string name;
    int64_t bytes = 0;  ///< bytes of this rank's tensor
  };

  int64_t number = 0;  ///< number of the decision, the same on all ranks; from 1
  Kind kind;
  std::vector<Tensor> tensors;
};

struct TraceEvent {
  enum class Kind : uint8_t {
    kSubmitted,  ///< this rank has submitted `name` for `operation`
    kArrived,    ///< the submission of `name` by `rank` has reached rank 0
    kDecided,    ///< `step` was decided and waits for the data thread
    kStarted,    ///< the data thread begins to execute `step`
    kDone,       ///< `step` is done; `name`: its error, or empty
    kFailed,     ///< `name` has failed and will not be decided
    kCycle,      ///< rank 0 has looked for ready tensors and has found some
  };

  Kind kind = Kind::kSubmitted;
  Deadline at;
  std::string name = {};
  int rank = -1;
  Operation operation = Operation::kAllReduce;
  std::shared_ptr<const TraceStep> step = {};
};

}  // namespace tony::collective
