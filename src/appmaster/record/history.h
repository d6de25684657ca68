// The job's event stream: numbered, stamped, written to the history file and shown to followers.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/record/job_event.h"
#include "os/files/files.h"
#include "rpc/convert/event_lines.h"
#include "rpc/services/event_log.h"

namespace tony::appmaster {

/// Not thread safe: owned by the event loop (the log is read by gRPC's threads and guards itself).
class History {
 public:
  /// Opens `path` (mode 0600) for appending, behind what earlier ApplicationMasters wrote there,
  /// of which only the end is read: `log` is to await the rest. A last line that was not finished
  /// is cut off. Errno codes.
  static absl::StatusOr<History> Open(const std::string& path, const Clock& clock,
                                      rpc::EventLog& log);
  /// The same where what they recorded, which ends with `past`, is kept elsewhere.
  static absl::StatusOr<History> Continue(const rpc::HistoryEnd& past, const std::string& path,
                                          const Clock& clock, rpc::EventLog& log);

  /// Each line that Record() makes is given to `copy`, too.
  void set_copy(std::function<void(const std::string& line)> copy) { copy_ = std::move(copy); }
  /// Leaves out that many numbers: events may have had them that this history has not got to know.
  void SkipNumbers(int64_t count) { last_sequence_ += count; }

  /// Whether an earlier ApplicationMaster has recorded the job's last event.
  bool ended() const { return past_.ended; }
  /// Number of the last event that one has recorded; 0: there was none.
  int64_t past_sequence() const { return past_.sequence; }

  /// Writes the event to the file first, then shows it. A file that cannot be written is said once,
  /// in the log; what it lacks is written with the next event for which there is room. For the last
  /// event, JobEnded, room was reserved on the disk before the first: a job's verdict is kept also
  /// on a disk that is full to the very end, if need be without the last lines of output in it.
  void Record(core::JobEventBody body);

 private:
  History(const rpc::HistoryEnd& past, os::AppendFile file, const Clock& clock, rpc::EventLog& log)
      : past_(past),
        file_(std::move(file)),
        clock_(&clock),
        log_(&log),
        last_sequence_(past.sequence) {}

  /// Sees to it that there is room for what is unwritten, and for the last event behind it.
  /// ResourceExhausted – there is not.
  absl::Status MakeRoom();
  absl::Status WriteLines();
  absl::Status WriteLast(core::JobEvent event);

  rpc::HistoryEnd past_;
  os::AppendFile file_;
  int64_t size_ = 0;          ///< of the file's whole lines
  int64_t reserved_end_ = 0;  ///< up to here there is room on the disk
  std::string unwritten_;     ///< lines that the file lacks at its end
  std::function<void(const std::string& line)> copy_;
  const Clock* clock_;
  rpc::EventLog* log_;
  int64_t last_sequence_ = 0;
  bool said_loss_ = false;
};

}  // namespace tony::appmaster
