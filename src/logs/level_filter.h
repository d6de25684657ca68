// Which lines of a log are of a level and above.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/logging.h"

namespace re2 {
class RE2;
}

namespace tony::logs {

/// An RE2 pattern for lines in which a program speaks of trouble of `level` and above: programs
/// have no common form for levels, but common words. Empty for levels below a warning, of which
/// every line is.
std::string LevelWords(LogLevel level);

/// The level that a wish names; nothing where `name` is empty: all lines are wanted.
/// InvalidArgument – there is no such level.
absl::StatusOr<std::optional<LogLevel>> WantedLevel(absl::string_view name);

/// Tells whether lines are wanted. Lines of tony's own programs say their level; one that does not,
/// such as the message of a crash, counts as an error. Lines of other programs are judged by
/// LevelWords(). Immutable, and so thread safe.
class LevelFilter {
 public:
  /// No `level`: all lines pass. `levels`: the log is of tony's own programs.
  LevelFilter(std::optional<LogLevel> level, bool levels);
  ~LevelFilter();
  LevelFilter(LevelFilter&&) noexcept;

  /// Whether `line`, without its '\n', is of the level or above.
  bool Passes(absl::string_view line) const;

 private:
  std::optional<LogLevel> level_;
  bool levels_;
  std::unique_ptr<const re2::RE2> words_;  ///< null: not needed
};

}  // namespace tony::logs
