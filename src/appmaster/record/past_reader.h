// Reads what earlier ApplicationMasters of the job recorded, while the job goes on.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <istream>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "rpc/services/event_log.h"

namespace tony::appmaster {

/// Reads the past on a thread of its own, after everything else is up, and gives it to the log,
/// which awaits it. Executors and clients wait for an ApplicationMaster and for what it does next,
/// but only followers that lack the past need it, so it must not delay the start. Thread safe.
class PastReader {
 public:
  /// Opens the history at its first line. Called on the reader's thread, and again after an error.
  using Open = std::function<absl::StatusOr<std::unique_ptr<std::istream>>()>;

  /// Reads the events up to `last_sequence`; later ones are this ApplicationMaster's own. After
  /// `retries` errors, with `pause` between them, followers are told that the past is missing.
  PastReader(rpc::EventLog& log, int64_t last_sequence, Open open, int retries, Duration pause);
  /// Stops reading; waits for a call of `open` that has begun.
  ~PastReader();
  PastReader(const PastReader&) = delete;
  PastReader& operator=(const PastReader&) = delete;

 private:
  void Run();
  /// The events in `lines`, with notes where some are missing.
  std::vector<v1::JobEvent> Read(std::istream& lines);
  bool leaving();
  /// Waits before the next try. False: this object is being destroyed.
  bool Pause();

  rpc::EventLog& log_;
  const int64_t last_sequence_;
  const Open open_;
  int retries_;  ///< used by the thread only
  const Duration pause_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;  ///< guarded by mutex_
  std::thread thread_;    ///< last, because it uses the members above
};

}  // namespace tony::appmaster
