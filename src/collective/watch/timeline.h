// A rank's timeline: events from all of its threads, written to a file by a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collective/base/descriptor.h"
#include "collective/base/status.h"
#include "collective/watch/trace_event.h"
#include "collective/watch/trace_text.h"

namespace tony::collective {

/// Add() never waits for the disk. If the file is slower than the events, events that find the
/// queue full are dropped and counted; the file and stderr say how many. The writing thread first
/// waits for rank 0's clock (SetClock()), at most for `clock_patience`. Thread safe.
class Timeline {
 public:
  static constexpr size_t kMostEvents = size_t{1} << 16;

  struct Options {
    std::string path;
    int rank = 0;
    bool mark_cycles = false;
    /// Longest wait for SetClock().
    std::chrono::milliseconds clock_patience = std::chrono::seconds(2);
  };

  /// Creates the file and starts the writing thread. FailedPrecondition – the file cannot be
  /// written; the message names it.
  static Result<std::shared_ptr<Timeline>> Start(const Options& options);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  bool mark_cycles() const { return options_.mark_cycles; }
  void Add(TraceEvent event);
  /// Sets this rank's clock relative to rank 0's, in nanoseconds: see TraceText::Clock. Only the
  /// first call counts, and none after `clock_patience`.
  void SetClock(int64_t offset, int64_t error);
  /// Writes all events that were added, and the end of the file; later events are ignored.
  /// FailedPrecondition – not all could be written; the message names the file.
  Status Finish();

 private:
  Timeline(Options options, Descriptor file);

  void Run();
  /// Waits for events and takes them all. Returns false at the end, when Finish() was called.
  bool Take(std::vector<TraceEvent>& events, int64_t& dropped);
  void Write(const std::string& text);

  const Options options_;
  const Descriptor file_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TraceEvent> events_;
  int64_t dropped_ = 0;
  std::optional<TraceText::Clock> clock_;
  bool finishing_ = false;
  Status written_;  ///< of the writing thread; others read it after the thread has ended
  std::mutex ending_;
  std::thread thread_;
};

}  // namespace tony::collective
