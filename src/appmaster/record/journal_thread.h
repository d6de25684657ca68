// A journal on storage that takes its time, written beside the event loop.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "appmaster/record/decision_log.h"
#include "appmaster/record/journal.h"
#include "common/event_loop.h"

namespace tony::appmaster {

/// Decisions that come while others are being written are written together as the next entry. Owned
/// by the event loop; a mutex guards what its thread shares with that.
class JournalThread : public DecisionLog {
 public:
  /// `loop` outlives this. `journal` is this object's alone from now on.
  JournalThread(Journal journal, EventLoop& loop);
  /// Waits for what is being written; who has not been answered is not answered any more.
  ~JournalThread() override;

  int incarnation() const override { return incarnation_; }
  void Append(const core::Decisions& decisions, OnKept on_kept) override;

 private:
  /// What is written as one entry.
  struct Batch {
    core::Decisions decisions;
    std::vector<OnKept> waiting;
  };

  void Run();
  void Answer();

  Journal journal_;  ///< the thread's, once that has begun
  const int incarnation_;
  EventLoop& loop_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Batch next_;                                           ///< guarded by mutex_
  std::vector<std::pair<Batch, absl::Status>> written_;  ///< guarded by mutex_
  bool leaving_ = false;                                 ///< guarded by mutex_
  /// The loop's; what is posted asks it whether this object is still there.
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);
  std::thread thread_;  ///< last: it uses the rest
};

}  // namespace tony::appmaster
