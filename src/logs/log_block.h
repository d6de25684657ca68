// Parts of a log that a person looks at: lines around an offset, and lines that match a pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logging.h"

namespace tony::logs {

/// A line, without its '\n'.
struct LogRow {
  int64_t offset = 0;
  std::string text;
  bool hit = false;  ///< it matches the pattern
};

/// Lines of a log. Offsets are those of LogBytes. Plain data.
struct LogBlock {
  int64_t offset = 0;  ///< of the first line
  int64_t end = 0;     ///< behind the last complete line
  int64_t size = 0;    ///< of the log
  int64_t dropped_offset = 0;
  int64_t dropped_bytes = 0;
  std::vector<LogRow> rows;
  /// The last row has no '\n' yet, so it begins at `end`.
  bool partial = false;
  std::optional<int64_t> next;  ///< where to go on; nothing: the log's end was reached
  size_t hits = 0;
};

/// A longer line comes in pieces of this size in bytes.
inline constexpr size_t kMostRowBytes = size_t{64} * 1024;

/// Returns the lines that begin at or behind `offset`, as many as fit into `limit` bytes, and at
/// least one if there is one. A negative offset counts from the end. NotFound – there is no log
/// `path` (of the first segment). Otherwise errno codes. Thread safe.
absl::StatusOr<LogBlock> ReadLogBlock(const std::string& path, int64_t offset, size_t limit);

/// What to look for.
struct LogSearch {
  int64_t offset = 0;   ///< begins with the first line from here on; negative: from the end
  std::string pattern;  ///< RE2; '^' and '$' mean a line; empty: all lines
  std::optional<LogLevel> level;  ///< only lines of this one and above, by LevelFilter
  bool levels = false;            ///< a log of tony's own programs: lines begin with time and level
  size_t context = 0;             ///< lines before and behind each hit
  size_t hits = 100;              ///< the most
  size_t limit = size_t{64} * 1024;  ///< bytes of lines, after which the search ends
};

/// Returns the lines that match and are of the level, with their context. The search ends early,
/// with `next`, when enough was found or `enough` returns true, which is asked about a thousand
/// times a second. InvalidArgument – the pattern is none. Otherwise the codes of ReadLogBlock().
/// Thread safe.
absl::StatusOr<LogBlock> SearchLog(const std::string& path, const LogSearch& search,
                                   const std::function<bool()>& enough);

/// InvalidArgument, with RE2's reason, unless `pattern` is a pattern. Thread safe.
absl::Status CheckLogPattern(const std::string& pattern);

}  // namespace tony::logs
