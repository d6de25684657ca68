// Writes the journal on slow storage, beside the event loop.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "appmaster/record/decision_log.h"
#include "appmaster/record/journal.h"
#include "common/event_loop.h"
#include "common/lifetime.h"

namespace tony::appmaster {

/// Group commit: decisions that arrive during a write are written together as the next entry. Owned
/// by the event loop; a mutex guards what its thread shares with the loop.
class JournalThread : public DecisionLog {
 public:
  /// `loop` must outlive this object. From now on only this object may use `journal`.
  JournalThread(Journal journal, EventLoop& loop);
  /// Waits until the thread has written what is pending; callbacks not called by then are never
  /// called.
  ~JournalThread() override;

  int incarnation() const override { return incarnation_; }
  void Append(const core::Decisions& decisions, OnKept on_kept) override;

 private:
  /// The decisions of one entry, and the callbacks that wait for it.
  struct Batch {
    core::Decisions decisions;
    std::vector<OnKept> waiting;
  };

  void Run();
  void Answer();

  Journal journal_;  ///< used by the thread only, once it runs
  const int incarnation_;
  EventLoop& loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Batch next_;                                           ///< guarded by mutex_
  std::vector<std::pair<Batch, absl::Status>> written_;  ///< guarded by mutex_
  bool leaving_ = false;                                 ///< guarded by mutex_
  Lifetime lifetime_;
  std::thread thread_;  ///< last, because it uses the members above
};

}  // namespace tony::appmaster
