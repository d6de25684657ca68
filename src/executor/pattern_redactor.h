// Takes what a job's own patterns match out of its output, line by line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/secret_scanner.h"

namespace re2 {
class RE2;
}

namespace tony::executor {

/// Replaces every match of one of the patterns by kRedacted. Patterns (RE2) see bytes, within a
/// line: a line ends at '\n' or '\r', and waits until its end has come. One of more than
/// kMaxLineBytes is taken in pieces, in which a match of more than kOverlap bytes may be missed.
/// Not thread safe.
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
  /// Passes on the first `size` bytes that are held, and what belongs to a match that begins there.
  void PassOn(size_t size, const OutputSink& sink);

  std::unique_ptr<re2::RE2> pattern_;  ///< all of them in one; null: there are none
  std::string held_;
};

}  // namespace tony::executor
