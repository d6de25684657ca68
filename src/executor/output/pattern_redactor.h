// Takes what a job's own patterns match out of its output, line by line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/output/secret_scanner.h"

namespace re2 {
class RE2;
}

namespace tony::executor {

/// Replaces every match of one of the patterns by kRedacted. Patterns (RE2) see bytes, and a line
/// at a time, so that '^' and '$' are its begin and its end, however the output is divided: a line
/// ends at '\n' or '\r', and waits until its end has come. One of more than kMaxLineBytes is taken
/// in pieces, in which a match of more than kOverlap bytes may be missed. Not thread safe.
class PatternRedactor {
 public:
  static constexpr size_t kMaxLineBytes = 64 << 10;
  static constexpr size_t kOverlap = 4 << 10;

  /// InvalidArgument – RE2 does not take a pattern.
  static absl::StatusOr<PatternRedactor> Create(const std::vector<std::string>& patterns);
  PatternRedactor(PatternRedactor&&) noexcept;
  PatternRedactor& operator=(PatternRedactor&&) noexcept;
  ~PatternRedactor();

  /// Passes the bytes on to `sink`.
  void Add(const char* data, size_t size, const OutputSink& sink);
  /// Passes on the unfinished line.
  void Flush(const OutputSink& sink);

 private:
  explicit PatternRedactor(std::unique_ptr<re2::RE2> pattern);
  /// A part of what is held: a line without its end, or one that goes on.
  struct Line {
    size_t begin;
    size_t end;
  };

  /// Replaces the matches in `line` that begin before `end`, and passes on what is before them.
  /// `passed_on`, of what is held, before and after.
  size_t Redact(Line line, size_t end, size_t passed_on, const OutputSink& sink);

  std::unique_ptr<re2::RE2> pattern_;  ///< all of them in one; null: there are none
  std::string held_;                   ///< of a line whose end has not come
  size_t searched_ = 0;                ///< of what is held: there is no line's end in it
};

}  // namespace tony::executor
