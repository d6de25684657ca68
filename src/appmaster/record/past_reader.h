// What earlier ApplicationMasters of the job recorded, read while the job goes on.
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

/// Executors and clients wait for an ApplicationMaster, and for what it does next, but only
/// followers that lack the past need that: a thread reads it after everything else is up, and gives
/// it to the log, which awaits it. Thread safe.
class PastReader {
 public:
  /// Opens the history from its first line on. Called on the thread, again after an error.
  using Open = std::function<absl::StatusOr<std::unique_ptr<std::istream>>()>;

  /// Reads the events up to `last_sequence`; what is behind them is this ApplicationMaster's own.
  /// After `retries` errors, with `pause` between them, followers are told that the past is
  /// missing.
  PastReader(rpc::EventLog& log, int64_t last_sequence, Open open, int retries, Duration pause);
  /// Gives up what has not been read yet; a call of `open` that has begun is waited for.
  ~PastReader();
  PastReader(const PastReader&) = delete;
  PastReader& operator=(const PastReader&) = delete;

 private:
  void Run();
  /// The events in `lines`, and notes where some are missing.
  std::vector<v1::JobEvent> Read(std::istream& lines);
  bool leaving();
  /// False: this object goes away meanwhile.
  bool Pause();

  rpc::EventLog& log_;
  const int64_t last_sequence_;
  const Open open_;
  int retries_;  ///< the thread's
  const Duration pause_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;  ///< guarded by mutex_
  std::thread thread_;    ///< last: it uses the rest
};

}  // namespace tony::appmaster
