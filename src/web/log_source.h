// The port through which pages read the logs of tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/task_id.h"

namespace tony::web {

/// The last part of a log.
struct LogTail {
  std::string bytes;
  int64_t left_out = 0;  ///< bytes before these
};

/// Called on the event loop; answers there once, perhaps from within the call. Not thread safe.
class LogSource {
 public:
  enum class Stream { kStdout, kStderr };
  /// NotFound – there is no such log (yet); any other code says why it cannot be read.
  using Take = std::function<void(absl::StatusOr<LogTail>)>;

  virtual ~LogSource() = default;

  /// Reads the last bytes, at most `most`, of what the program of `task` printed in its start
  /// number `attempt`, counted from 1.
  virtual void ReadTail(const core::TaskId& task, int attempt, Stream stream, size_t most,
                        Take take) = 0;
};

}  // namespace tony::web
