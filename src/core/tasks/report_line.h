// A line that a program writes about itself: "step=120 loss=0.31 note=\"all well\"".
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace tony::core {

/// One NAME=VALUE. The views point into the text that was parsed.
struct ReportPair {
  absl::string_view name;
  absl::string_view value;

  bool operator==(const ReportPair&) const = default;
};

/// The pairs of one line, in their order, and the first word that is none. Plain data; the views
/// point into the text that was parsed.
struct ReportLine {
  std::vector<ReportPair> pairs;
  absl::string_view defect;  ///< empty: the whole line was understood

  bool operator==(const ReportLine&) const = default;
};

/// Limits of a line. Longer ones are not read: only up to 4,096 bytes (PIPE_BUF) does Linux promise
/// that the lines of several processes do not mix.
inline constexpr size_t kMostReportLineBytes = 4096;
inline constexpr size_t kMostReportNameBytes = 64;
inline constexpr size_t kMostReportValueBytes = 1024;

/// Reads a line of NAME=VALUE pairs (logfmt without escapes), between which there are spaces; a
/// value with spaces is in double quotes. A name has letters, digits and "_.-/"; a value is
/// printable UTF-8.
ReportLine ParseReportLine(absl::string_view line);

/// Whether such a pair may stand in a line.
bool IsReportPair(const ReportPair& pair);

/// The number that `value` is, also NaN and infinity; nothing if it is none.
std::optional<double> ReportedNumber(absl::string_view value);

}  // namespace tony::core
