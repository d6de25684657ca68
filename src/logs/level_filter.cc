#include "logs/level_filter.h"

#include <re2/re2.h>

namespace tony::logs {

std::string LevelWords(LogLevel level) {
  if (level == LogLevel::kError) return "(?i:error|exception|traceback|fatal|critical)";
  if (level == LogLevel::kWarning) return "(?i:warn|error|exception|traceback|fatal|critical)";
  return "";
}

absl::StatusOr<std::optional<LogLevel>> WantedLevel(absl::string_view name) {
  if (name.empty()) return std::nullopt;
  return ParseLogLevel(name);
}

LevelFilter::LevelFilter(std::optional<LogLevel> level, bool levels)
    : level_(level), levels_(levels) {
  if (!level || levels) return;
  const std::string words = LevelWords(*level);
  if (!words.empty()) words_ = std::make_unique<const RE2>(words, RE2::Quiet);
}

LevelFilter::~LevelFilter() = default;
LevelFilter::LevelFilter(LevelFilter&&) noexcept = default;

bool LevelFilter::Passes(absl::string_view line) const {
  if (level_ && levels_) return LevelOfLogLine(line).value_or(LogLevel::kError) >= *level_;
  return words_ == nullptr || RE2::PartialMatch({line.data(), line.size()}, *words_);
}

}  // namespace tony::logs
