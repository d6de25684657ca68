// RE2 over whole lines.
#include "executor/pattern_redactor.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tony::executor {

absl::StatusOr<PatternRedactor> PatternRedactor::Create(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return PatternRedactor(nullptr);
  std::string all;
  for (const std::string& pattern : patterns) {
    absl::StrAppend(&all, all.empty() ? "" : "|", "(?:", pattern, ")");
  }
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // output is bytes
  options.set_never_nl(true);
  options.set_never_capture(true);
  options.set_log_errors(false);
  auto compiled = std::make_unique<re2::RE2>(all, options);
  if (!compiled->ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a pattern of tony.task.log.redact is not valid: ", compiled->error()));
  }
  return PatternRedactor(std::move(compiled));
}

PatternRedactor::PatternRedactor(std::unique_ptr<re2::RE2> pattern)
    : pattern_(std::move(pattern)) {}
PatternRedactor::PatternRedactor(PatternRedactor&&) noexcept = default;
PatternRedactor& PatternRedactor::operator=(PatternRedactor&&) noexcept = default;
PatternRedactor::~PatternRedactor() = default;

void PatternRedactor::Add(const char* data, size_t size, const OutputSink& sink) {
  if (pattern_ == nullptr) return sink(data, size);
  held_.append(data, size);
  const size_t line_end = held_.find_last_of("\r\n");
  if (line_end != std::string::npos) {
    PassOn(line_end + 1, sink);
  } else if (held_.size() > kMaxLineBytes) {
    PassOn(held_.size() - kOverlap, sink);
  }
}

void PatternRedactor::Flush(const OutputSink& sink) {
  if (!held_.empty()) PassOn(held_.size(), sink);
}

void PatternRedactor::PassOn(size_t size, const OutputSink& sink) {
  const re2::StringPiece text(held_);
  size_t done = 0;
  re2::StringPiece match;
  for (size_t at = 0; at < size;) {
    if (!pattern_->Match(text, at, text.size(), re2::RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<size_t>(match.data() - text.data());
    if (begin >= size) break;
    at = begin + std::max<size_t>(1, match.size());
    if (match.empty()) continue;
    if (begin > done) sink(text.data() + done, begin - done);
    sink(kRedacted, sizeof kRedacted - 1);
    done = begin + match.size();
  }
  if (done < size) sink(text.data() + done, size - done);
  held_.erase(0, std::max(done, size));
}

}  // namespace tony::executor
