// The job's event stream: numbers and stamps events, writes them to the history file, and shows
// them to followers.
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

/// Records the job's events. Not thread safe: owned by the event loop (gRPC's threads read the log,
/// which guards itself).
class History {
 public:
  /// Opens `path` (mode 0600) for appending behind the events of earlier ApplicationMasters. Only
  /// the end of these is read; `log` awaits the rest. An unfinished last line is cut off. Errno
  /// codes.
  static absl::StatusOr<History> Open(const std::string& path, const Clock& clock,
                                      rpc::EventLog& log);
  /// Like Open(), if the earlier events, which end with `past`, are kept elsewhere. Errno codes.
  static absl::StatusOr<History> Continue(const rpc::HistoryEnd& past, const std::string& path,
                                          const Clock& clock, rpc::EventLog& log);

  /// Sets a function that also receives each line that Record() writes.
  void set_copy(std::function<void(const std::string& line)> copy) { copy_ = std::move(copy); }
  /// Sets a function that receives each event that Record() has written and shown.
  void set_observer(std::function<void(const core::JobEvent& event)> observer) {
    observer_ = std::move(observer);
  }
  /// Skips `count` sequence numbers, because events unknown to this history may have had them.
  void SkipNumbers(int64_t count) { last_sequence_ += count; }

  /// Whether the job's last event is recorded, by this ApplicationMaster or an earlier one.
  bool ended() const { return past_.ended; }
  /// Number of the last event that an earlier ApplicationMaster has recorded; 0: there is none.
  int64_t past_sequence() const { return past_.sequence; }

  /// Writes the event to the file first, then shows it. A write failure is logged once; the missing
  /// lines are written with the next event for which there is room. Space for the last event,
  /// JobEnded, was reserved on the disk before the first one: the job's verdict is kept even on a
  /// full disk, if necessary without the last lines of output in it.
  void Record(core::JobEventBody body);

 private:
  History(const rpc::HistoryEnd& past, os::AppendFile file, const Clock& clock, rpc::EventLog& log)
      : past_(past),
        file_(std::move(file)),
        clock_(&clock),
        log_(&log),
        last_sequence_(past.sequence) {}

  /// Reserves disk space for the unwritten lines and for the last event behind them.
  /// ResourceExhausted – the disk has not enough.
  absl::Status MakeRoom();
  absl::Status WriteLines();
  absl::Status WriteLast(core::JobEvent event);

  rpc::HistoryEnd past_;
  os::AppendFile file_;
  int64_t size_ = 0;          ///< bytes in the file's whole lines
  int64_t reserved_end_ = 0;  ///< disk space is reserved up to this offset
  std::string unwritten_;     ///< lines that the file still lacks at its end
  std::function<void(const std::string& line)> copy_;
  std::function<void(const core::JobEvent& event)> observer_;
  const Clock* clock_;
  rpc::EventLog* log_;
  int64_t last_sequence_ = 0;
  bool said_loss_ = false;
};

}  // namespace tony::appmaster
