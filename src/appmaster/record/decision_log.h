// Keeps the ApplicationMaster's decisions before they are carried out.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "core/job/job_decision.h"

namespace tony::appmaster {

/// A write-ahead log of decisions. Not thread safe: owned by the event loop.
class DecisionLog {
 public:
  /// The result for a set of decisions. OK – they are kept. Aborted – another ApplicationMaster has
  /// taken over: nothing may be done any more. Any other code – they are not kept yet, and will be
  /// written with the next ones.
  using OnKept = std::function<void(const absl::Status& status)>;

  virtual ~DecisionLog() = default;
  /// The number, from 1, of the ApplicationMaster that has opened this log.
  virtual int incarnation() const = 0;
  /// Appends decisions. Answers come in the order of the calls, on the event loop: from within the
  /// call if keeping takes no noticeable time, otherwise later.
  virtual void Append(const core::Decisions& decisions, OnKept on_kept) = 0;
};

}  // namespace tony::appmaster
