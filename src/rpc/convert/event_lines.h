// A history as lines: read as a whole without parsing what later lines take the place of, or only
// its end.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/record/job_event.h"

namespace tony::rpc {

/// What can be told of a measurement's line without parsing it.
struct MeasurementLine {
  int64_t sequence = 0;
  std::string
      run;  ///< the same for all measurements of one task, and of one attempt if they name it
};

/// Nothing for a line that is no measurement, or that EventToJsonLine() does not write like that.
/// Some hundred times quicker than parsing the line.
std::optional<MeasurementLine> ScanMeasurement(absl::string_view line);

/// Takes the event of line `number`, from 1, or why that line is none (codes of
/// EventFromJsonLine()); returns whether to go on.
using UseEventLine = std::function<bool(int number, const absl::StatusOr<core::JobEvent>& event)>;

/// Every whole line of `lines`, which can be read twice, in order; a last line without its end is
/// left out. Histories of earlier versions have a line for every measurement, which may be
/// millions: of those of one run only the last is taken, and `skipped` (may be missing) hears the
/// numbers of the others.
void ForEachEventLine(std::istream& lines, const UseEventLine& use,
                      const std::function<void(int64_t sequence)>& skipped = nullptr);

/// Of the file that an ApplicationMaster keeps for the newest measurements, which are no events.
/// Lines that are none are left out.
std::vector<core::TaskMeasured> ParseMeasurements(absl::string_view lines);

/// How far a history goes.
struct HistoryEnd {
  int64_t bytes = 0;     ///< of its whole lines
  int64_t rest = 0;      ///< and of a line behind them that is not whole
  int64_t sequence = 0;  ///< of its last event; 0: it has none
  bool ended = false;    ///< that is the job's last one
};

/// Reads the end of `path` only, however long the file is. A file that is missing has no events.
/// Errno codes.
absl::StatusOr<HistoryEnd> ReadHistoryEnd(const std::string& path);
/// The same of text that begins with a whole line.
HistoryEnd FindHistoryEnd(absl::string_view text);

}  // namespace tony::rpc
