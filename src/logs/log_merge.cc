// A k-way merge. Lines are ordered by when they were whole, not by when they began: a line that
// comes later, be it the end of a progress bar of an hour, is then always behind the place up to
// which a follower has read, so that it neither misses the line nor waits for it.
#include "logs/log_merge.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <queue>
#include <utility>

#include "absl/time/time.h"
#include "common/status_macros.h"
#include "logs/level_filter.h"
#include "logs/log_block.h"
#include "logs/log_reader.h"

namespace tony::logs {
namespace {

/// What a row takes besides its text, so that a page of empty lines is bounded too.
constexpr size_t kRowBytes = 32;

/// Asking whether it is enough may cost a look at a clock.
constexpr int64_t kLinesBetween = 256;

/// The length of the time with which tony's own lines begin.
constexpr size_t kTimeSize = 29;

/// When a line of tony's own was written; 0: it does not say so.
int64_t OwnTime(const std::string& text) {
  absl::Time time;
  if (!LevelOfLogLine(text)) return 0;
  if (!absl::ParseTime(absl::RFC3339_full, text.substr(0, kTimeSize), &time, nullptr)) return 0;
  return absl::ToUnixMillis(time);
}

/// One log, and its first line that was not used yet.
struct Head {
  size_t source = 0;
  LogReader reader;
  LogLine line;

  /// Reads the next line. No file of times lies beside the logs of tony's own.
  bool Read(const MergeSource& from, bool open_ends) {
    const int64_t before = line.whole_millis;
    if (!(open_ends ? reader.Finish(&line) : reader.Next(&line))) return false;
    if (from.levels) line.whole_millis = std::max(before, OwnTime(line.text));
    return true;
  }

  /// Reads the first line behind `place`. `left`: how many lines of the place's time are still to
  /// be passed over, after those of the sources before this one. False: there is none.
  bool ReadBehind(const MergeSource& from, const MergePlace& place, bool open_ends, int64_t& left,
                  const std::function<bool()>& stop) {
    if (!from.levels) left -= reader.PassOver(place.millis, left, open_ends, stop);
    bool found = Read(from, open_ends);
    int64_t lines = 0;
    while (found &&
           (line.whole_millis < place.millis || (line.whole_millis == place.millis && left > 0))) {
      if (stop != nullptr && ++lines % kLinesBetween == 0 && stop()) return false;
      if (line.whole_millis == place.millis) --left;
      found = Read(from, open_ends);
    }
    return found;
  }
};

struct ComesLater {
  bool operator()(const Head* left, const Head* right) const {
    if (left->line.whole_millis != right->line.whole_millis) {
      return left->line.whole_millis > right->line.whole_millis;
    }
    return left->source > right->source;
  }
};

/// Takes the lines in their order and keeps those that are wanted. Not thread safe.
class PageMaker {
 public:
  PageMaker(const std::vector<MergeSource>& sources, const MergeRange& range)
      : sources_(sources),
        range_(range),
        own_level_(range.level, true),
        program_level_(range.level, false) {
    page_.next = range.place;
    if (range.pattern.empty()) return;
    RE2::Options options(RE2::Quiet);
    options.set_never_nl(true);
    pattern_ = std::make_unique<RE2>(range.pattern, options);
  }

  /// The lines to add lie behind the place where the page begins, which is `lines` lines behind the
  /// start of its time.
  void BeginBehind(int64_t lines) {
    time_ = range_.place.millis;
    of_time_ = lines;
  }

  bool full() const { return page_.rows.size() >= range_.lines || bytes_ >= range_.bytes; }

  // All lines count for the place, so that it does not depend on what else is asked for.
  void Add(size_t source, LogLine line) {
    const int64_t time = line.whole_millis;
    of_time_ = time == time_ ? of_time_ + 1 : 1;
    time_ = time;
    const MergePlace behind{time, of_time_};
    if (behind <= range_.place) return;
    page_.next = behind;
    if (time != 0 && time < range_.since) return;
    const LevelFilter& level = sources_[source].levels ? own_level_ : program_level_;
    if (!level.Passes(line.text)) return;
    if (pattern_ != nullptr && !RE2::PartialMatch(line.text, *pattern_)) return;
    bytes_ += line.text.size() + kRowBytes;
    page_.rows.push_back({time, of_time_, source, std::move(line.text)});
  }

  MergedPage Finish(bool more) {
    page_.more = more;
    if (!more && range_.horizon) page_.next = std::max(page_.next, MergePlace{*range_.horizon, 0});
    return std::move(page_);
  }

 private:
  const std::vector<MergeSource>& sources_;
  const MergeRange& range_;
  const LevelFilter own_level_;
  const LevelFilter program_level_;
  MergedPage page_;
  std::unique_ptr<RE2> pattern_;
  size_t bytes_ = 0;
  int64_t time_ = -1;    ///< of the newest line
  int64_t of_time_ = 0;  ///< lines of that time so far
};

}  // namespace

absl::StatusOr<MergedPage> MergeLogs(const std::vector<MergeSource>& sources,
                                     const MergeRange& range, const std::function<bool()>& enough,
                                     const std::function<bool()>& stop) {
  if (!range.pattern.empty()) TONY_RETURN_IF_ERROR(CheckLogPattern(range.pattern));
  // The lines before the place are passed over here, without a limit of time: a page that ended
  // among them would begin at the same place again. Lines of one time lie in the order of sources.
  int64_t left = range.place.skip;
  std::vector<std::unique_ptr<Head>> heads;
  std::priority_queue<Head*, std::vector<Head*>, ComesLater> queue;
  for (size_t i = 0; i < sources.size(); ++i) {
    auto head = std::make_unique<Head>(Head{i, LogReader(sources[i].path), {}});
    // What is older than a place in time was used; without one, lines of unknown time come first.
    if (range.place.millis > 0) {
      head->reader.SkipToWhole(range.place.millis);
    } else if (range.since > 0) {
      head->reader.SkipToWhole(range.since);
    }
    const bool found = head->ReadBehind(sources[i], range.place, range.open_ends, left, stop);
    if (stop != nullptr && stop()) return absl::CancelledError("nobody waits for these lines");
    if (!found) continue;
    queue.push(head.get());
    heads.push_back(std::move(head));
  }
  PageMaker page(sources, range);
  page.BeginBehind(range.place.skip - left);
  int64_t asked = 0;
  while (!queue.empty()) {
    Head* const head = queue.top();
    if (range.horizon && head->line.whole_millis >= *range.horizon) break;
    if (page.full() || (++asked % kLinesBetween == 0 && enough())) return page.Finish(true);
    queue.pop();
    page.Add(head->source, std::move(head->line));
    if (head->Read(sources[head->source], range.open_ends)) queue.push(head);
  }
  return page.Finish(false);
}

}  // namespace tony::logs
