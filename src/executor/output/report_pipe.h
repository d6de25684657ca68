// The named pipe through which a program reports values of itself.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "executor/output/reported_values.h"
#include "os/files/unique_fd.h"

namespace tony::executor {

/// Holds the pipe open for reading and writing, so that no writer waits for a reader, or gets a
/// signal without one. A line of up to 4 KiB arrives whole. Not thread safe: owned by the loop.
class ReportPipe {
 public:
  /// Makes the pipe `path` anew (mode 0600, whatever the umask), for as long as this lives. `loop`
  /// outlives this. Errno codes.
  static absl::StatusOr<std::unique_ptr<ReportPipe>> Open(EventLoop& loop, const std::string& path);

  ~ReportPipe();
  ReportPipe(const ReportPipe&) = delete;
  ReportPipe& operator=(const ReportPipe&) = delete;

  /// Takes what is in the pipe.
  void Drain();
  const std::map<std::string, std::string>& values() const { return values_.values(); }

 private:
  ReportPipe(EventLoop& loop, std::string path, os::UniqueFd pipe)
      : loop_(loop), path_(std::move(path)), pipe_(std::move(pipe)) {}
  void Watch();

  EventLoop& loop_;
  const std::string path_;
  const os::UniqueFd pipe_;
  ReportedValues values_;
  std::unique_ptr<EventLoop::Handle> watch_;
};

}  // namespace tony::executor
