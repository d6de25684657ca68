// Lines of several logs as one, by time, page by page.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/logging.h"

namespace tony::logs {

/// A place between the lines of a merge: lines of an earlier time lie before it, and of those of
/// its own time the first `skip`. Plain data.
struct MergePlace {
  int64_t millis = 0;
  int64_t skip = 0;

  auto operator<=>(const MergePlace&) const = default;
};

/// Lines that are younger may not be in their log yet.
inline constexpr std::chrono::milliseconds kWritingTime{100};

/// One of the logs to merge.
struct MergeSource {
  std::string path;     ///< of the first segment
  bool levels = false;  ///< a log of tony's own programs: lines begin with time and level
};

/// The part of a merge that is wanted.
struct MergeRange {
  MergePlace place;   ///< begin here
  int64_t since = 0;  ///< lines that are known to be older are left out
  /// The time from which on lines may still be on their way into the logs: lines of this time and
  /// later are left for later. Nothing: the logs do not grow.
  std::optional<int64_t> horizon;
  bool open_ends = false;          ///< a last line without '\n' will not go on, and is a line too
  std::string pattern;             ///< RE2; empty: all lines
  std::optional<LogLevel> level;   ///< only lines of this one and above, by LevelFilter
  size_t lines = 500;              ///< the most
  size_t bytes = size_t{1} << 20;  ///< of lines, some more for each, after which the page ends
};

/// One line of a merge.
struct MergedRow {
  int64_t unix_millis = 0;  ///< when it was whole; 0: not known
  int64_t place = 0;        ///< MergePlace::skip of the place behind it
  size_t source = 0;        ///< its log, by its position among the sources
  std::string text;
};

/// A page of lines. All wanted lines before `next` are in it or in pages before.
struct MergedPage {
  std::vector<MergedRow> rows;
  MergePlace next;
  bool more = false;  ///< there are more lines already, or `enough` was true
};

/// Merges the logs by the time at which their lines were whole; lines of one time keep the order of
/// `sources`, and a line without a time has that of the line before. The same page comes again,
/// however the logs have grown, as long as the clock of their host is not set back. `enough` is
/// asked now and then; true ends the page, but not before it has got beyond its place, so that the
/// next page goes on. `stop` is asked on the way there, too: true ends everything.
/// InvalidArgument – the pattern is none. Cancelled – `stop`. Thread safe.
absl::StatusOr<MergedPage> MergeLogs(const std::vector<MergeSource>& sources,
                                     const MergeRange& range, const std::function<bool()>& enough,
                                     const std::function<bool()>& stop = nullptr);

}  // namespace tony::logs
