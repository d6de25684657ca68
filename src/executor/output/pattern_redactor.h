// Redacts the matches of a job's own patterns in its output, line by line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "logs/secret_scanner.h"

namespace re2 {
class RE2;
}

namespace tony::executor {

/// Replaces every match of one of the patterns by kRedacted. The patterns (RE2) see bytes, one line
/// at a time, so '^' and '$' are the begin and the end of the line however the output is divided. A
/// line ends at '\n' or '\r', and is held until its end has come. A line of more than kMaxLineBytes
/// is processed in pieces; a match of more than kOverlap bytes may be missed in it. Not thread
/// safe.
class PatternRedactor {
 public:
  static constexpr size_t kMaxLineBytes = 64 << 10;
  static constexpr size_t kOverlap = 4 << 10;

  /// InvalidArgument – RE2 does not accept a pattern.
  static absl::StatusOr<PatternRedactor> Create(const std::vector<std::string>& patterns);
  PatternRedactor(PatternRedactor&&) noexcept;
  PatternRedactor& operator=(PatternRedactor&&) noexcept;
  ~PatternRedactor();

  /// Passes the redacted bytes on to `sink`.
  void Add(const char* data, size_t size, const logs::OutputSink& sink);
  /// Passes on the unfinished line.
  void Flush(const logs::OutputSink& sink);

 private:
  explicit PatternRedactor(std::unique_ptr<re2::RE2> pattern);
  /// A range of the held bytes: a line without its end, or a line that goes on.
  struct Line {
    size_t begin;
    size_t end;
  };

  /// Replaces the matches in `line` that begin before `end`, and passes on the bytes before them.
  /// `passed_on`: how many of the held bytes were passed on before the call; the result: how many
  /// are after it.
  size_t Redact(Line line, size_t end, size_t passed_on, const logs::OutputSink& sink);

  std::unique_ptr<re2::RE2> pattern_;  ///< all patterns in one; null: there are none
  std::string held_;                   ///< bytes of a line whose end has not come
  size_t searched_ = 0;                ///< held bytes known to contain no line end
};

}  // namespace tony::executor
