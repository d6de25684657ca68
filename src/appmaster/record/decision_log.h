// Where the ApplicationMaster keeps what it decides, before it does it.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "core/job/job_decision.h"

namespace tony::appmaster {

/// Not thread safe: owned by the event loop.
class DecisionLog {
 public:
  /// What became of decisions. OK – they are kept; Aborted – another ApplicationMaster has taken
  /// over: nothing may be done any more; otherwise they are not kept yet, and will be with the next
  /// ones.
  using OnKept = std::function<void(const absl::Status& status)>;

  virtual ~DecisionLog() = default;
  /// Of the ApplicationMaster that has opened it, from 1.
  virtual int incarnation() const = 0;
  /// Calls are answered in their order, on the event loop: from within the call where keeping takes
  /// no time worth speaking of, else later.
  virtual void Append(const core::Decisions& decisions, OnKept on_kept) = 0;
};

}  // namespace tony::appmaster
