// Appends one JSON line per event and reserves disk space ahead, so that the last event always
// fits.
#include "appmaster/record/history.h"

#include <unistd.h>

#include <cerrno>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/event_json.h"

namespace tony::appmaster {
namespace {

/// Limit on the events that wait for room on the disk, in bytes. Beyond it they are dropped; the
/// gap in the sequence numbers shows a reader that some are missing.
constexpr size_t kMostUnwritten = 8 << 20;
/// Disk space reserved for the last event, in bytes.
constexpr int64_t kLastEventRoom = 256 << 10;

std::string LineOf(const core::JobEvent& event) { return rpc::EventToJsonLine(event) + "\n"; }

}  // namespace

absl::StatusOr<History> History::Open(const std::string& path, const Clock& clock,
                                      rpc::EventLog& log) {
  TONY_ASSIGN_OR_RETURN(const rpc::HistoryEnd past, rpc::ReadHistoryEnd(path));
  // Truncated only if needed, because truncating gives back the space reserved behind the file's
  // end.
  if (past.rest > 0) LogInfo("a half-written event is cut off", {{"bytes", past.rest}});
  if (past.rest > 0 && ::truncate(path.c_str(), static_cast<off_t>(past.bytes)) != 0) {
    return os::ErrnoError(errno, path);
  }
  return Continue(past, path, clock, log);
}

absl::StatusOr<History> History::Continue(const rpc::HistoryEnd& past, const std::string& path,
                                          const Clock& clock, rpc::EventLog& log) {
  TONY_ASSIGN_OR_RETURN(os::AppendFile file, os::AppendFile::Open(path));
  History history(past, std::move(file), clock, log);
  history.size_ = past.bytes;
  log.AwaitPast(past.sequence);
  // A disk that is already full is reported with the first event.
  (void)history.MakeRoom();
  return history;
}

void History::Record(core::JobEventBody body) {
  const core::JobEvent event{++last_sequence_, clock_->UnixMillis(), std::move(body)};
  if (unwritten_.size() > kMostUnwritten) {
    LogWarning("events that wait for room on the disk are dropped", {{"before", last_sequence_}});
    unwritten_.clear();
  }
  const std::string line = LineOf(event);
  unwritten_ += line;
  if (copy_) copy_(line);
  absl::Status written;
  if (std::holds_alternative<core::JobEnded>(event.body)) {
    past_.ended = true;
    written = WriteLast(event);
  } else {
    written = MakeRoom();
    if (written.ok()) written = WriteLines();
  }
  if (!written.ok() && !std::exchange(said_loss_, true)) {
    LogError(absl::StrCat("the history is incomplete: ", std::string(written.message())));
  }
  log_->Append(rpc::ToProto(event));
  if (observer_) observer_(event);
}

absl::Status History::MakeRoom() {
  const int64_t needed = size_ + static_cast<int64_t>(unwritten_.size()) + kLastEventRoom;
  if (needed <= reserved_end_) return absl::OkStatus();
  // Reserves more than needed, because MakeRoom() runs before each event.
  const int64_t end = needed + kLastEventRoom;
  const absl::Status reserved = file_.Reserve(end - size_);
  if (reserved.ok()) reserved_end_ = end;
  // Some file systems cannot reserve space; there the write itself shows whether there is room.
  return absl::IsResourceExhausted(reserved) ? reserved : absl::OkStatus();
}

absl::Status History::WriteLines() {
  const absl::Status written = file_.Append(unwritten_);
  if (written.ok()) {
    size_ += static_cast<int64_t>(unwritten_.size());
    unwritten_.clear();
    return written;
  }
  // Removes a half-written line, which would spoil the next line, too.
  (void)file_.Cut(size_);
  reserved_end_ = 0;
  return written;
}

absl::Status History::WriteLast(core::JobEvent event) {
  const absl::Status room = MakeRoom();
  const auto fits = [this] {
    return size_ + static_cast<int64_t>(unwritten_.size()) <= reserved_end_;
  };
  // On a full disk the lines that still wait are sacrificed for the last event; if the reserved
  // room is too small even for that, the verdict loses its output tail.
  const bool complete = room.ok() || fits();
  if (!complete) {
    LogWarning("the disk has room for the last event only", {{"sequence", event.sequence}});
    unwritten_ = LineOf(event);
    auto& exit = std::get<core::JobEnded>(event.body).verdict.exit;
    if (!fits() && exit) {
      exit->tail.clear();
      unwritten_ = LineOf(event);
    }
  }
  TONY_RETURN_IF_ERROR(WriteLines());
  (void)file_.Cut(size_);  // gives back the reserved space
  return complete ? absl::OkStatus() : room;
}

}  // namespace tony::appmaster
