// Writes a timeline's events as text in Chrome's trace event format.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "collective/watch/trace_event.h"

namespace tony::collective {

/// One event a line, in the array form of "Trace Event Format" (Google, 2016). Readers accept a
/// truncated array: neither its closing bracket nor the last comma has to be there.
///
/// The rank is a process of the trace. Each tensor is a thread of it, whose slices follow each
/// other:
///
///     NEGOTIATE_ALLREDUCE ─▶ WAIT ─▶ ALLREDUCE
///
/// The first kNamed names keep a line (thread) of their own. Above that, tensors that are on their
/// way at the same time have a line each, which later tensors reuse. An event that does not follow
/// from the ones before (events were dropped) is left out, so that every slice that begins also
/// ends. Computation only. Not thread safe.
class TraceText {
 public:
  static constexpr int kNamed = 1000;

  struct Clock {
    int64_t offset = 0;  ///< nanoseconds from this rank's clock to rank 0's
    int64_t error = 0;   ///< largest error of `offset`, nanoseconds; below 0: it was not measured
    int64_t unix_nanoseconds = 0;  ///< this rank's Unix time when its own clock was 0
  };

  TraceText(int rank, Clock clock) : rank_(rank), clock_(clock) {}

  /// The beginning of the file. `host`: the machine's name, for people.
  std::string Begin(const std::string& host, Deadline now) const;
  void Add(const TraceEvent& event, std::string& text);
  /// An event that says that `events` events were dropped for lack of room.
  std::string Dropped(int64_t events, Deadline now) const;
  /// The end of the file, unless the process is killed before.
  std::string End(Deadline now);

 private:
  enum class State { kNone, kNegotiating, kWaiting, kRunning };
  struct Line {
    int number = 0;  ///< the trace's "tid"
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
  /// The beginning of an event's JSON object: "ph", "pid", "tid" and "ts".
  std::string Event(char phase, int line, Deadline at) const;
  std::string Instant(int line, std::string_view name, Deadline at,
                      const std::string& arguments) const;

  const int rank_;
  const Clock clock_;
  std::unordered_map<std::string, Line> lines_;
  int named_ = 0;
  int last_line_ = 0;
  std::set<int> free_lines_;  ///< lines of tensors above the limit that are free for others
};

/// `text` as a JSON string with its quotation marks. Bytes that are not UTF-8 are replaced by
/// U+FFFD.
std::string JsonText(std::string_view text);

}  // namespace tony::collective
