// All patterns are joined into one alternation, so a line is searched once however many patterns
// there are.
#include "executor/output/pattern_redactor.h"

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
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // output is bytes, not UTF-8
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

void PatternRedactor::Add(const char* data, size_t size, const logs::OutputSink& sink) {
  if (pattern_ == nullptr) return sink(data, size);
  held_.append(data, size);
  size_t line = 0;  // begin of the current line
  size_t passed_on = 0;
  // The search runs line by line: a match, including '^' and '$', must not depend on how the output
  // was divided.
  for (size_t end; (end = held_.find_first_of("\r\n", searched_)) != std::string::npos;) {
    passed_on = Redact({line, end}, end, passed_on, sink);
    line = searched_ = end + 1;
  }
  size_t known = line;
  if (held_.size() - line > kMaxLineBytes) {
    known = held_.size() - kOverlap;
    passed_on = Redact({line, held_.size()}, known, passed_on, sink);
    known = std::max(known, passed_on);
  }
  if (passed_on < known) sink(held_.data() + passed_on, known - passed_on);
  held_.erase(0, known);
  searched_ = held_.size();
}

void PatternRedactor::Flush(const logs::OutputSink& sink) {
  if (held_.empty()) return;
  const size_t passed_on = Redact({0, held_.size()}, held_.size(), 0, sink);
  if (passed_on < held_.size()) sink(held_.data() + passed_on, held_.size() - passed_on);
  held_.clear();
  searched_ = 0;
}

// A match that begins at or behind `end` is left for the next call: more bytes of the line could
// make it longer. An empty match replaces nothing, but moves the search on by one byte.
size_t PatternRedactor::Redact(Line line, size_t end, size_t passed_on,
                               const logs::OutputSink& sink) {
  const re2::StringPiece text(held_.data() + line.begin, line.end - line.begin);
  re2::StringPiece match;
  for (size_t at = line.begin; at < end;) {
    if (!pattern_->Match(text, at - line.begin, text.size(), re2::RE2::UNANCHORED, &match, 1))
      break;
    const auto place = static_cast<size_t>(match.data() - held_.data());
    if (place >= end) break;
    at = place + std::max<size_t>(1, match.size());
    if (match.empty()) continue;
    if (place > passed_on) sink(held_.data() + passed_on, place - passed_on);
    sink(logs::kRedacted, sizeof logs::kRedacted - 1);
    passed_on = place + match.size();
  }
  return passed_on;
}

}  // namespace tony::executor
