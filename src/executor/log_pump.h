// Carries one output stream of the user's program from its pipe into its log file.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "os/files.h"
#include "os/unique_fd.h"

namespace tony::executor {

/// Reads whenever there is something, so that the program never waits for its log. When the file
/// cannot be written (full disk) the output goes on to be read, and the loss is said once in the
/// executor's log. Owned by the event loop.
class LogPump {
 public:
  /// Called with all that is read, before it is written.
  using Observer = std::function<void(const char* data, size_t size)>;

  /// Makes the pipe and opens `path` (mode 0600) for appending. Errno codes.
  static absl::StatusOr<std::unique_ptr<LogPump>> Open(EventLoop& loop, const std::string& path,
                                                       Observer observer);

  /// For the program; close it here once the program has its own.
  int write_end() const { return write_end_.get(); }
  void CloseWriteEnd() { write_end_.Reset(); }
  /// Takes over what is in the pipe now, without waiting for more and without keeping up with a
  /// process that goes on writing.
  void Drain();

 private:
  LogPump(os::UniqueFd read_end, os::UniqueFd write_end, os::AppendFile file, std::string path,
          Observer observer);
  /// How many bytes were read: 0 at the end of the stream, negative when nothing is there.
  ssize_t ReadOnce();

  os::UniqueFd read_end_;
  os::UniqueFd write_end_;
  os::AppendFile file_;
  const std::string path_;
  const Observer observer_;
  bool said_loss_ = false;
  std::unique_ptr<EventLoop::Handle> watch_;  ///< last: goes before the descriptor that it watches
};

}  // namespace tony::executor
