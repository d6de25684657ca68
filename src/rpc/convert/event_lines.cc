// String scanning in place of JSON parsing, which works because EventToJsonLine() writes fields in
// a fixed order.
#include "rpc/convert/event_lines.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "rpc/convert/event_json.h"

namespace tony::rpc {
namespace {

/// Bytes read from the end of a file at first; four times as many each time they hold no event.
constexpr int64_t kFirstTail = 64 << 10;

/// Removes the digits at the front of `text` and returns them.
absl::string_view TakeDigits(absl::string_view& text) {
  size_t length = 0;
  while (length < text.size() && text[length] >= '0' && text[length] <= '9') ++length;
  const absl::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

/// Maps each run to the number of its last measurement line.
class LastMeasurements {
 public:
  /// Scans from line `number`, whose text is `first`, to the end, then moves back to behind that
  /// line.
  void Scan(std::istream& lines, int number, const std::string& first) {
    const std::istream::pos_type behind = lines.tellg();
    Note(number, first);
    std::string line;
    while (std::getline(lines, line) && !lines.eof()) Note(++number, line);
    lines.clear();
    lines.seekg(behind);
  }
  bool Supersedes(const std::string& run, int number) const {
    const auto last = last_.find(run);
    // A line behind the scanned ones is not superseded: the file may have grown since the scan.
    return last != last_.end() && number < last->second;
  }

 private:
  void Note(int number, const std::string& line) {
    if (std::optional<MeasurementLine> measured = ScanMeasurement(line)) {
      last_[std::move(measured->run)] = number;
    }
  }

  absl::flat_hash_map<std::string, int> last_;
};

/// The last event in `text`; `whole`: `text` begins with a whole line. nullopt: the caller must
/// read more of what precedes `text`.
std::optional<HistoryEnd> FindEndIn(absl::string_view text, bool whole) {
  size_t end = text.rfind('\n');
  if (end == absl::string_view::npos && !whole) return std::nullopt;
  HistoryEnd found;
  found.bytes = end == absl::string_view::npos ? 0 : static_cast<int64_t>(end) + 1;
  found.rest = static_cast<int64_t>(text.size()) - found.bytes;
  if (found.bytes == 0) return found;
  for (;;) {
    const size_t before = end == 0 ? absl::string_view::npos : text.rfind('\n', end - 1);
    if (before == absl::string_view::npos && !whole) return std::nullopt;
    const size_t begin = before == absl::string_view::npos ? 0 : before + 1;
    const absl::string_view line = text.substr(begin, end - begin);
    if (const std::optional<MeasurementLine> measured = ScanMeasurement(line)) {
      found.sequence = measured->sequence;
      return found;
    }
    const absl::StatusOr<core::JobEvent> event = EventFromJsonLine(std::string(line));
    if (event.ok()) {
      found.sequence = event->sequence;
      found.ended = std::holds_alternative<core::JobEnded>(event->body);
      return found;
    }
    if (begin == 0) return found;
    end = before;
  }
}

absl::StatusOr<std::string> ReadFrom(int fd, int64_t offset, int64_t size,
                                     const std::string& path) {
  std::string text(static_cast<size_t>(size), '\0');
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = pread(fd, text.data() + done, text.size() - done,
                                static_cast<off_t>(offset + static_cast<int64_t>(done)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::ErrnoError(errno, path);
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace

std::optional<MeasurementLine> ScanMeasurement(absl::string_view line) {
  MeasurementLine measured;
  // EventToJsonLine() writes the fields in the order of the .proto file.
  if (!absl::ConsumePrefix(&line, "{\"sequence\":\"") ||
      !absl::SimpleAtoi(TakeDigits(line), &measured.sequence)) {
    return std::nullopt;
  }
  if (absl::ConsumePrefix(&line, "\",\"unix_millis\":\"")) TakeDigits(line);
  if (!absl::ConsumePrefix(&line, "\",\"task_measured\":{\"task\":{")) return std::nullopt;
  // Task type names contain no brace.
  const size_t task_end = line.find('}');
  if (task_end == absl::string_view::npos || !absl::EndsWith(line, "}}")) return std::nullopt;
  measured.run = std::string(line.substr(0, task_end));
  const size_t attempt = line.rfind("},\"attempt\":");
  if (attempt != absl::string_view::npos) absl::StrAppend(&measured.run, line.substr(attempt));
  return measured;
}

void ForEachEventLine(std::istream& lines, const UseEventLine& use,
                      const std::function<void(int64_t sequence)>& skipped) {
  std::optional<LastMeasurements> last;
  std::string line;
  for (int number = 1; std::getline(lines, line) && !lines.eof(); ++number) {
    if (const std::optional<MeasurementLine> measured = ScanMeasurement(line)) {
      // The scan of the whole history happens only at the first measurement, so histories without
      // measurement lines are read once.
      if (!last) last.emplace().Scan(lines, number, line);
      if (last->Supersedes(measured->run, number)) {
        if (skipped) skipped(measured->sequence);
        continue;
      }
    }
    if (!use(number, EventFromJsonLine(line))) return;
  }
}

std::vector<core::TaskMeasured> ParseMeasurements(absl::string_view lines) {
  std::vector<core::TaskMeasured> found;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const absl::StatusOr<core::JobEvent> event = EventFromJsonLine(std::string(line));
    if (!event.ok()) continue;
    if (const auto* measured = std::get_if<core::TaskMeasured>(&event->body)) {
      found.push_back(*measured);
    }
  }
  return found;
}

absl::StatusOr<HistoryEnd> ReadHistoryEnd(const std::string& path) {
  // O_NONBLOCK: a pipe in the history's place must not block.
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid() && errno == ENOENT) return HistoryEnd{};
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) return os::ErrnoError(errno, path);
  const int64_t size = status.st_size;
  // The last event may be longer than the first tail, because the verdict contains output.
  for (int64_t tail = kFirstTail;; tail *= 4) {
    const int64_t offset = std::max<int64_t>(0, size - tail);
    TONY_ASSIGN_OR_RETURN(const std::string text, ReadFrom(fd.get(), offset, size - offset, path));
    std::optional<HistoryEnd> end = FindEndIn(text, offset == 0);
    if (!end) continue;
    end->bytes += end->bytes > 0 ? offset : 0;
    return *end;
  }
}

HistoryEnd FindHistoryEnd(absl::string_view text) { return *FindEndIn(text, /*whole=*/true); }

}  // namespace tony::rpc
