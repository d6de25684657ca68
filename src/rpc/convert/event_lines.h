// Reads a history as lines: as a whole, without parsing superseded measurements, or only its end.
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

/// The fields of a measurement's line that can be read without parsing the line.
struct MeasurementLine {
  int64_t sequence = 0;
  std::string run;  ///< identifies the task, and the attempt if the line names it
};

/// nullopt for a line that is not a measurement, or that EventToJsonLine() would write differently.
/// Some hundred times faster than parsing the line.
std::optional<MeasurementLine> ScanMeasurement(absl::string_view line);

/// Receives line `number`, from 1: its event, or the reason why the line holds none (codes of
/// EventFromJsonLine()). Returns whether to go on.
using UseEventLine = std::function<bool(int number, const absl::StatusOr<core::JobEvent>& event)>;

/// Passes every whole line of `lines` to `use`, in order; an unfinished last line is left out.
/// `lines` must be readable twice. Histories of earlier versions have a line for every measurement,
/// which may be millions: of each run only the last measurement is passed on, and `skipped`
/// (optional) receives the numbers of the others.
void ForEachEventLine(std::istream& lines, const UseEventLine& use,
                      const std::function<void(int64_t sequence)>& skipped = nullptr);

/// Parses the file in which an ApplicationMaster keeps the newest measurements, which are not
/// events. Lines that are not measurements are left out.
std::vector<core::TaskMeasured> ParseMeasurements(absl::string_view lines);

/// Where a history ends.
struct HistoryEnd {
  int64_t bytes = 0;     ///< length of its whole lines
  int64_t rest = 0;      ///< length of an unfinished line behind them
  int64_t sequence = 0;  ///< number of its last event; 0: it has none
  bool ended = false;    ///< its last event is the job's last one
};

/// Reads only the end of `path`, however long the file is. A missing file has no events. Errno
/// codes.
absl::StatusOr<HistoryEnd> ReadHistoryEnd(const std::string& path);
/// Like ReadHistoryEnd(), for text that begins with a whole line.
HistoryEnd FindHistoryEnd(absl::string_view text);

}  // namespace tony::rpc
