// Blocks of a log and searches in it, on a worker's thread, for whoever asks from the event loop.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/worker.h"
#include "logs/log_block.h"

namespace tony::logs {

/// How long a search may take before it answers with what it has.
inline constexpr std::chrono::seconds kSearchTime{1};

/// True when `stop` is, or when kSearchTime has passed since this call. `clock` must outlive the
/// result.
std::function<bool()> OutOfTime(const Clock& clock, const Worker::Stop& stop);

/// Reads and searches one log after the other. `path`: of the log's first segment. `take` is called
/// on the loop with the codes of ReadLogBlock(), SearchLog() and Worker::Run(). Not thread safe:
/// belongs to the event loop.
class LogLookup {
 public:
  using Take = std::function<void(absl::StatusOr<LogBlock>)>;

  /// Both must outlive this object.
  LogLookup(Worker& worker, const Clock& clock) : worker_(worker), clock_(clock) {}

  void ReadBlock(const std::string& path, int64_t offset, size_t limit, Worker::Abandoned abandoned,
                 Take take);
  void Search(const std::string& path, const LogSearch& search, Worker::Abandoned abandoned,
              Take take);

 private:
  Worker& worker_;
  const Clock& clock_;
};

}  // namespace tony::logs
