// The timeline as text: Chrome's trace event format.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collective/watch/trace_event.h"

namespace tony::collective {

/// One event a line, in the array form of "Trace Event Format" (Google, 2016), of which readers
/// take a beginning: neither its end nor the last comma has to be there.
///
/// The rank is a process of the trace, each tensor a thread, in which slices follow each other:
///
///     NEGOTIATE_ALLREDUCE ─▶ WAIT ─▶ ALLREDUCE
///
/// Above kNamed names, those that are on their way at the same time have a line each, which the
/// next ones take over. What does not follow (events were dropped) is left out, so that all that
/// begins ends. Computation only. Not thread safe.
class TraceText {
 public:
  static constexpr int kNamed = 1000;

  struct Clock {
    int64_t offset = 0;            ///< nanoseconds from this rank's clock to rank 0's
    int64_t error = 0;             ///< at most; below 0: it was not measured
    int64_t unix_nanoseconds = 0;  ///< what the time of day was here at 0 of this rank's clock
  };

  TraceText(int rank, Clock clock) : rank_(rank), clock_(clock) {}

  /// What comes first. `host`: for people.
  std::string Begin(const std::string& host, Deadline now) const;
  void Add(const TraceEvent& event, std::string& text);
  /// So many events had no room.
  std::string Dropped(int64_t events, Deadline now) const;
  /// What comes last, when nobody kills the process.
  std::string End(Deadline now);

 private:
  enum class State { kNone, kNegotiating, kWaiting, kRunning };
  struct Line {
    int number = 0;  ///< "tid"
    State state = State::kNone;
    bool named = false;
  };

  Line& LineOf(const std::string& tensor, std::string& text);
  void Forget(const std::string& tensor);
  void Submitted(const TraceEvent& event, std::string& text);
  void Step(const TraceEvent& event, std::string& text);
  void StepOf(size_t index, const TraceEvent& event, Line& line, std::string& text);
  void BeginSlice(const Line& line, std::string_view name, Deadline at,
                  const std::string& arguments, std::string& text) const;
  void EndSlice(Line& line, Deadline at, const std::string& arguments, std::string& text) const;
  /// "ph", "pid", "tid" and "ts".
  std::string Event(char phase, int line, Deadline at) const;
  std::string Instant(int line, std::string_view name, Deadline at,
                      const std::string& arguments) const;

  const int rank_;
  const Clock clock_;
  std::unordered_map<std::string, Line> lines_;
  int named_ = 0;
  int last_line_ = 0;
  std::set<int> free_lines_;  ///< of tensors above the limit
};

/// With quotation marks. What is no UTF-8 is replaced.
std::string JsonText(std::string_view text);

}  // namespace tony::collective
