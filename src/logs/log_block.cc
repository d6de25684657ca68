// A search looks at chunks of a megabyte and cuts out the lines of its hits: RE2 is 5 to 20 times
// slower if it is given one line at a time.
#include "logs/log_block.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "logs/level_filter.h"
#include "logs/log_bytes.h"

namespace tony::logs {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;
/// Memory for one pattern's automaton.
constexpr int64_t kPatternMemory = int64_t{8} << 20;

RE2::Options PatternOptions() {
  RE2::Options options(RE2::Quiet);
  options.set_never_nl(true);
  options.set_max_mem(kPatternMemory);
  return options;
}

int64_t Size(const std::string& bytes) { return static_cast<int64_t>(bytes.size()); }

/// A block that begins with the first line at or behind `offset`.
absl::StatusOr<LogBlock> BeginBlock(const LogBytes& log, int64_t offset) {
  LogBlock block;
  block.size = log.size();
  block.dropped_offset = log.dropped_offset();
  block.dropped_bytes = log.dropped_bytes();
  if (offset < 0) offset = std::max<int64_t>(0, log.size() + offset);
  offset = log.Existing(std::min(offset, log.size()));
  // The byte before tells whether a line begins here. What follows dropped bytes begins a line.
  const bool begins = offset == 0 || log.Existing(offset - 1) != offset - 1;
  if (!begins) {
    TONY_ASSIGN_OR_RETURN(const std::string bytes, log.Read(offset - 1, kMostRowBytes));
    // Without an end in sight, the block begins in the middle of the long line.
    const size_t newline = bytes.find('\n');
    if (newline != std::string::npos) offset += static_cast<int64_t>(newline);
  }
  block.offset = block.end = log.Existing(offset);
  return block;
}

/// Size of the row that begins at `begin`, with its '\n'; 0: its end is not there.
size_t RowSize(const std::string& bytes, size_t begin) {
  const size_t newline = bytes.find('\n', begin);
  const size_t size = (newline == std::string::npos ? bytes.size() : newline + 1) - begin;
  if (size > kMostRowBytes) return kMostRowBytes;
  return newline == std::string::npos ? 0 : size;
}

std::string RowText(const std::string& bytes, size_t begin, size_t size) {
  const bool newline = bytes[begin + size - 1] == '\n';
  return bytes.substr(begin, size - (newline ? 1 : 0));
}

/// Takes lines out of the chunks of a search. Not thread safe.
class Hits {
 public:
  Hits(const LogSearch& search, const LevelFilter& level, LogBlock& block)
      : search_(search), level_(level), block_(block) {}

  /// Looks through `chunk`, which begins at `offset` of the log with a line. Returns where the
  /// search is to go on: behind the chunk, or behind the last hit if that was the last one.
  int64_t Add(const RE2& pattern, const std::string& chunk, int64_t offset) {
    chunk_ = &chunk;
    chunk_offset_ = offset;
    size_t at = 0;    // lines before this are in the block, or are not wanted
    size_t from = 0;  // hits are looked for from here on
    re2::StringPiece found;
    while (!full() && from < chunk.size() &&
           pattern.Match(chunk, from, chunk.size(), RE2::UNANCHORED, &found, 1)) {
      const auto hit = static_cast<size_t>(found.data() - chunk.data());
      if (hit >= chunk.size()) break;
      const size_t begin = hit == 0 ? 0 : chunk.rfind('\n', hit - 1) + 1;
      // A line of a lower level is no hit, but may be the context of one.
      if (!level_.Passes(Line(begin))) {
        from = LineEnd(begin);
        continue;
      }
      AddBehind(at, begin);
      AddBefore(at, begin);
      from = at = AddRow(begin, true);
      behind_ = search_.context;
    }
    if (!full()) {
      AddBehind(at, chunk.size());
      at = chunk.size();
      KeepLast();
    }
    return offset + static_cast<int64_t>(at);
  }

  bool full() const { return block_.hits >= search_.hits || bytes_ >= search_.limit; }

 private:
  size_t LineEnd(size_t begin) const {
    const size_t newline = chunk_->find('\n', begin);
    return newline == std::string::npos ? chunk_->size() : newline + 1;
  }

  /// The line at `begin` of the chunk, without its '\n'.
  absl::string_view Line(size_t begin) const {
    return absl::StripSuffix(absl::string_view(*chunk_).substr(begin, LineEnd(begin) - begin),
                             "\n");
  }

  /// Adds the line at `begin` of the chunk; returns its end.
  size_t AddRow(size_t begin, bool hit) {
    const size_t end = LineEnd(begin);
    Push({chunk_offset_ + static_cast<int64_t>(begin),
          RowText(*chunk_, begin, std::min(end - begin, kMostRowBytes)), hit});
    return end;
  }

  void Push(LogRow row) {
    bytes_ += row.text.size() + 1;
    block_.hits += row.hit ? 1 : 0;
    block_.rows.push_back(std::move(row));
  }

  /// The lines behind the last hit, of those from `at` to `end`.
  void AddBehind(size_t at, size_t end) {
    for (; behind_ > 0 && at < end; --behind_) at = AddRow(at, false);
  }

  /// The lines before a hit at `begin`: those of the chunk from `from` on, and before them those
  /// that the last chunk has left.
  void AddBefore(size_t from, size_t begin) {
    std::vector<size_t> lines;
    size_t line = begin;
    while (lines.size() < search_.context && line > from) {
      line = line < 2 ? 0 : chunk_->rfind('\n', line - 2) + 1;
      lines.push_back(line);
    }
    if (line == 0 && from == 0) {
      const size_t more = std::min(search_.context - lines.size(), last_.size());
      for (size_t i = last_.size() - more; i < last_.size(); ++i) PushNew(last_[i]);
    }
    for (auto begins = lines.rbegin(); begins != lines.rend(); ++begins) {
      if (IsNew(chunk_offset_ + static_cast<int64_t>(*begins))) AddRow(*begins, false);
    }
  }

  bool IsNew(int64_t offset) const {
    return block_.rows.empty() || offset > block_.rows.back().offset;
  }
  void PushNew(const LogRow& row) {
    if (IsNew(row.offset)) Push(row);
  }

  /// Keeps the chunk's last lines, which may stand before a hit in the next one.
  void KeepLast() {
    std::vector<LogRow> kept;
    size_t line = chunk_->size();
    while (kept.size() < search_.context && line > 0) {
      const size_t end = line;
      line = line < 2 ? 0 : chunk_->rfind('\n', line - 2) + 1;
      kept.push_back({chunk_offset_ + static_cast<int64_t>(line),
                      RowText(*chunk_, line, std::min(end - line, kMostRowBytes)), false});
    }
    last_.assign(kept.rbegin(), kept.rend());
  }

  const LogSearch& search_;
  const LevelFilter& level_;
  LogBlock& block_;
  const std::string* chunk_ = nullptr;
  int64_t chunk_offset_ = 0;
  size_t bytes_ = 0;          ///< of all rows
  size_t behind_ = 0;         ///< lines still to add behind the last hit
  std::vector<LogRow> last_;  ///< of the chunk before
};

}  // namespace

absl::StatusOr<LogBlock> ReadLogBlock(const std::string& path, int64_t offset, size_t limit) {
  TONY_ASSIGN_OR_RETURN(const LogBytes log, LogBytes::Open(path));
  TONY_ASSIGN_OR_RETURN(LogBlock block, BeginBlock(log, offset));
  TONY_ASSIGN_OR_RETURN(const std::string bytes, log.Read(block.offset, limit + kMostRowBytes));
  size_t begin = 0;
  while (begin < bytes.size()) {
    const size_t size = RowSize(bytes, begin);
    if (size == 0 || (begin > 0 && begin + size > limit)) break;
    block.rows.push_back({block.offset + static_cast<int64_t>(begin), RowText(bytes, begin, size)});
    begin += size;
  }
  block.end = block.offset + static_cast<int64_t>(begin);
  const bool all = block.offset + Size(bytes) >= log.size();
  if (all && begin < bytes.size() && RowSize(bytes, begin) == 0) {
    block.partial = true;
    block.rows.push_back({block.end, bytes.substr(begin)});
  } else if (block.end < log.size()) {
    block.next = log.Existing(block.end);
  }
  // A segment that was dropped just now leaves nothing to read here: the next call sees the gap.
  if (block.rows.empty()) block.next.reset();
  return block;
}

absl::Status CheckLogPattern(const std::string& pattern) {
  const RE2 compiled(pattern, PatternOptions());
  if (compiled.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", pattern,
                                                 "' is no pattern of RE2: ", compiled.error(),
                                                 "; the syntax: "
                                                 "https://github.com/google/re2/wiki/Syntax"));
}

absl::StatusOr<LogBlock> SearchLog(const std::string& path, const LogSearch& search,
                                   const std::function<bool()>& enough) {
  TONY_RETURN_IF_ERROR(CheckLogPattern(search.pattern));
  // Without a pattern a program's lines are found by the level's words, many at a time, instead of
  // each line by itself.
  const bool by_words = search.pattern.empty() && search.level && !search.levels;
  const std::string wanted = by_words ? LevelWords(*search.level) : search.pattern;
  const RE2 pattern(absl::StrCat("(?m:", wanted, ")"), PatternOptions());
  const LevelFilter level(by_words ? std::nullopt : search.level, search.levels);
  TONY_ASSIGN_OR_RETURN(const LogBytes log, LogBytes::Open(path));
  TONY_ASSIGN_OR_RETURN(LogBlock block, BeginBlock(log, search.offset));
  Hits hits(search, level, block);
  int64_t at = block.offset;
  while (at < log.size() && !hits.full() && !enough()) {
    TONY_ASSIGN_OR_RETURN(std::string chunk, log.Read(at, kChunkBytes));
    if (chunk.empty()) break;
    // Lines stay whole, except those that are longer than a chunk.
    const bool last = at + Size(chunk) >= log.size();
    const size_t newline = chunk.rfind('\n');
    if (!last && newline != std::string::npos) chunk.resize(newline + 1);
    at = log.Existing(hits.Add(pattern, chunk, at));
  }
  block.end = at;
  if (at < log.size()) block.next = at;
  if (!block.rows.empty()) block.offset = block.rows.front().offset;
  return block;
}

}  // namespace tony::logs
