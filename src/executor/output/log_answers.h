// Reads the container's logs for the job's page: lines, whole files, several merged, the first
// error.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "common/clock.h"
#include "common/event_loop.h"
#include "common/worker.h"
#include "logs/log_lookup.h"
#include "tony/v1/log_query.pb.h"

namespace tony::executor {

/// Reads on a thread, one request after the other. The request names no file, so that it cannot
/// name any other file of the host. Not thread safe: owned by the event loop.
class LogAnswers {
 public:
  /// Largest size of the lines of an answer. A message has 4 MiB at most, and an empty line of one
  /// byte takes eight.
  static constexpr int64_t kMostBytes = 256 * 1024;

  using Send = std::function<void(v1::LogLines lines)>;

  /// `folder`: the container's log folder. `loop` and `clock` must outlive this object.
  LogAnswers(EventLoop& loop, const Clock& clock, std::string folder, Send send)
      : clock_(clock),
        folder_(std::move(folder)),
        send_(std::move(send)),
        worker_(loop),
        lookup_(worker_, clock) {}

  /// Answers each request once. The answer holds the codes of logs::ReadLogBlock(),
  /// logs::SearchLog() and logs::MergeLogs(); NotFound – also: such a log cannot exist.
  /// InvalidArgument – also: a level is none. ResourceExhausted – too many requests wait.
  void Answer(const v1::ReadLog& wish);

 private:
  /// Sends what `work` returns as the answer to `request`.
  void Run(int64_t request, std::function<absl::StatusOr<v1::LogLines>(const Worker::Stop&)> work);
  void AnswerFromOne(const v1::ReadLog& wish);

  const Clock& clock_;
  const std::string folder_;
  const Send send_;
  Worker worker_;
  logs::LogLookup lookup_;
};

}  // namespace tony::executor
