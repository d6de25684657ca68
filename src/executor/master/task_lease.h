// The lease on the task: how long no ApplicationMaster gives the task away, and the doubt whether
// one has, once the lease has run out.
#pragma once

#include "common/clock.h"

namespace tony::executor {

/// Each sign of life (heartbeat or hello) that is answered renews the lease. The lease counts from
/// the moment at which the sign was sent, since the time that the answer was on its way must not
/// lengthen it.
///
///              expiry noticed              answered in time                 confirmed
///   NO DOUBT ────────────────▶ IN DOUBT ───────────────────▶ ASKED (hello) ───────────▶ NO DOUBT
///
/// Doubt does not end with a renewed lease, which does not prove that the task was not given away
/// meanwhile. Not thread safe.
class TaskLease {
 public:
  /// `clock` must outlive this.
  explicit TaskLease(const Clock& clock) : clock_(clock) {}

  /// Zero, the default: the lease never expires and cannot be renewed.
  void set_length(Duration length) { length_ = length; }
  /// Call when a hello is sent.
  void SaidHello() { said_hello_at_ = clock_.Now(); }
  /// Call when a heartbeat is sent; returns now, for the heartbeat.
  TimePoint SentHeartbeat() { return beat_at_ = clock_.Now(); }
  /// Renews the lease: the sign of life sent at `sent` was answered. False, and no change, if a
  /// later one was answered already, or without a length.
  bool Renew(TimePoint sent);
  /// Same as Renew(), from the newest hello.
  bool RenewFromHello() { return Renew(said_hello_at_); }
  /// Ends the doubt: an ApplicationMaster has said that the task is still this executor's.
  void Confirm() { doubt_ = Doubt::kNone; }

  bool expired() const { return clock_.Now() >= end_; }
  /// TimePoint::max() until the first renewal.
  TimePoint end() const { return end_; }
  bool in_doubt() const { return doubt_ != Doubt::kNone; }
  /// Begins the doubt; false if it had begun before.
  bool BeginDoubt();
  /// True once per doubt, when signs of life are answered in time again: the answer to a hello sent
  /// now is likely to come in time, too.
  bool ShouldAsk();
  /// True while the newest heartbeat was not answered.
  bool awaits_answer() const { return beat_at_ > renewed_from_; }

 private:
  enum class Doubt { kNone, kInDoubt, kAsked };

  const Clock& clock_;
  Duration length_{0};
  TimePoint said_hello_at_;
  TimePoint beat_at_;
  TimePoint renewed_from_;  ///< when the sign of life was sent from which the lease counts
  TimePoint end_ = TimePoint::max();
  Doubt doubt_ = Doubt::kNone;
};

}  // namespace tony::executor
