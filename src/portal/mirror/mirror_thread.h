// Keeps the copies of one source's jobs as new as the source shows them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/clock.h"
#include "portal/mirror/job_mirror.h"
#include "portal/mirror/mirror_source.h"

namespace tony::portal {

/// Runs a JobMirror on a thread, with a pause after each round. A source that cannot be reached is
/// tried again. Thread safe.
class MirrorThread {
 public:
  static constexpr std::chrono::seconds kPause{3};
  /// In the folder of copies: when the source has last been copied as a whole, in Unix
  /// milliseconds, for the next portal.
  static constexpr char kAnsweredFile[] = "answered";

  /// `clock` must outlive this. `say` is called on the thread with why the copies are not as new as
  /// they should be, or with an empty text; only when that changes.
  MirrorThread(MirrorSource source, const Clock& clock,
               std::function<void(const std::string& trouble)> say);
  /// Ends the thread: a call to the source that is under way is broken off within a second or so,
  /// unless it waits for Kerberos.
  ~MirrorThread();
  MirrorThread(const MirrorThread&) = delete;
  MirrorThread& operator=(const MirrorThread&) = delete;

  /// Begins to end the thread, for an owner of several.
  void RequestStop() { thread_.request_stop(); }

 private:
  void Run(const std::stop_token& stop);
  /// One round; returns what is to be said of it.
  std::string Round(const std::stop_token& stop);
  /// Remembers that the source has answered; `always`: also for the next portal.
  void NoteAnswer(bool always);

  const MirrorSource source_;
  const Clock& clock_;
  const std::function<void(const std::string&)> say_;
  std::unique_ptr<JobMirror> mirror_;  ///< null: the source could not be opened yet
  int64_t answered_millis_ = 0;        ///< of the last whole round; 0: there was none
  int64_t noted_millis_ = 0;           ///< what kAnsweredFile says
  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::jthread thread_;  ///< last, because it uses the members above
};

}  // namespace tony::portal
