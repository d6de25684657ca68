// The named pipe through which a program reports values of itself.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/event_loop.h"
#include "executor/output/program_reports.h"
#include "os/files/unique_fd.h"

namespace tony::executor {

/// Holds the pipe open for reading and writing, so that no writer waits for a reader, or gets a
/// signal without one. A line of up to 4 KiB arrives whole.
///
/// A program that writes without end costs this process little. The pipe is read at most every
/// 20 ms, at most 64 KiB at a time, and only the newest 16 KiB of those are parsed: older lines say
/// little that the newest ones do not. A writer that is faster waits, or, if it writes without
/// waiting as tony.report() does, its lines are lost. Not thread safe: owned by the loop.
class ReportPipe {
 public:
  /// Makes the pipe `path` anew (mode 0600, whatever the umask), for as long as this lives. `loop`
  /// and `reports` outlive this. Errno codes.
  static absl::StatusOr<std::unique_ptr<ReportPipe>> Open(EventLoop& loop, const std::string& path,
                                                          ProgramReports& reports);

  ~ReportPipe();
  ReportPipe(const ReportPipe&) = delete;
  ReportPipe& operator=(const ReportPipe&) = delete;

  /// Takes all that is in the pipe: its program has ended.
  void Finish();

 private:
  ReportPipe(EventLoop& loop, std::string path, os::UniqueFd pipe, ProgramReports& reports)
      : loop_(loop), path_(std::move(path)), pipe_(std::move(pipe)), reports_(reports) {}
  void Watch();
  /// Reads once and parses the newest `most` bytes. Returns how many bytes were there.
  size_t Read(size_t most);

  EventLoop& loop_;
  const std::string path_;
  const os::UniqueFd pipe_;
  ProgramReports& reports_;
  std::unique_ptr<EventLoop::Handle> watch_;
};

}  // namespace tony::executor
