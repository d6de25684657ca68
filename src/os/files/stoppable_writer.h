// Writes to a terminal, pipe or file that may take nothing for a while, until told to stop.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "os/files/unique_fd.h"

namespace tony::os {

/// Writer whose wait for a halted terminal (Ctrl-S) or a busy reader can be ended from outside. Not
/// thread safe.
class StoppableWriter {
 public:
  /// `fd` outlives this. `stop_fd`: a descriptor that becomes readable when Write() is to give up;
  /// -1: none.
  StoppableWriter(int fd, int stop_fd);

  /// Writes all of `bytes`. Cancelled – `stop_fd` became readable before all was written, or the
  /// terminal was hung up. FailedPrecondition – the reader of a pipe has gone away. Errno codes.
  absl::Status Write(std::string_view bytes);

 private:
  /// Waits until the descriptor takes something. Cancelled, errno codes.
  absl::Status Await() const;

  UniqueFd own_;  ///< the same terminal or pipe, opened so that write() never blocks
  int fd_;
  int stop_fd_;
};

}  // namespace tony::os
