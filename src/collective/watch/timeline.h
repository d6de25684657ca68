// A rank's timeline: events from its threads, written to a file by a thread of its own.
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

/// Who adds an event waits for no disk: where the file is slower than the events, those that find
/// no room are dropped, counted, and said in the file and on stderr. Events wait for the clock,
/// which rank 0 is asked for, for a moment at most. Thread safe.
class Timeline {
 public:
  static constexpr size_t kMostEvents = size_t{1} << 16;

  struct Options {
    std::string path;
    int rank = 0;
    bool mark_cycles = false;
    std::chrono::milliseconds clock_patience = std::chrono::seconds(2);  ///< for SetClock()
  };

  /// FailedPrecondition: the file cannot be written; names it.
  static Result<std::shared_ptr<Timeline>> Start(const Options& options);
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  bool mark_cycles() const { return options_.mark_cycles; }
  void Add(TraceEvent event);
  /// Once; later ones are too late.
  void SetClock(int64_t offset, int64_t error);
  /// What was added is in the file, which is closed; nothing is added any more. FailedPrecondition:
  /// not all could be written; names the file.
  Status Finish();

 private:
  Timeline(Options options, Descriptor file);

  void Run();
  /// Until there is something to write. False: it is the end.
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
  Status written_;  ///< of the thread, until it has ended
  std::mutex ending_;
  std::thread thread_;
};

}  // namespace tony::collective
