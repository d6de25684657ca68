// Reads segments in chunks with pread(), opening the file for each chunk, and detects dropped,
// replaced and truncated segments by number, inode and size.
#include "logs/log_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "os/files/unique_fd.h"

namespace tony::logs {
namespace {

constexpr size_t kChunk = 64 << 10;
constexpr size_t kRecords = 256;
constexpr int64_t kLinesBetween = 256;  // of two questions whether to stop

os::UniqueFd OpenToRead(const std::string& path) {
  // The program may have replaced the file: O_NOFOLLOW keeps a symbolic link from leading
  // elsewhere, O_NONBLOCK keeps a FIFO from blocking.
  return os::UniqueFd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

int64_t SizeOf(int fd) {
  struct stat status {};
  return fstat(fd, &status) == 0 ? status.st_size : 0;
}

/// Start of the last lines of a file, and how many of the wanted lines the file has.
struct LastLines {
  int64_t start = 0;
  int64_t count = 0;
};

/// Counts lines by their ends, backwards in chunks from the end of the file. `counts_open_end`: a
/// last line without '\n' counts too.
LastLines FindLastLines(int fd, int64_t lines, bool counts_open_end) {
  const int64_t size = SizeOf(fd);
  if (lines <= 0) return {size, 0};
  std::string chunk(kChunk, '\0');
  int64_t count = 0;
  for (int64_t end = size; end > 0;) {
    const int64_t start = std::max<int64_t>(0, end - static_cast<int64_t>(kChunk));
    const ssize_t length = pread(fd, chunk.data(), static_cast<size_t>(end - start), start);
    if (length <= 0) break;
    for (ssize_t position = length - 1; position >= 0; --position) {
      const bool newline = chunk[static_cast<size_t>(position)] == '\n';
      if (newline && count == lines) return {start + position + 1, count};
      if (newline || (counts_open_end && start + position == size - 1)) ++count;
    }
    end = start;
  }
  return {0, count};
}

/// Binary search: index of the last of `count` records that is older than `unix_millis`; -1: none.
int64_t LastRecordBefore(int fd, int64_t count, int64_t unix_millis) {
  int64_t low = -1;
  for (int64_t high = count; high - low > 1;) {
    const int64_t middle = low + (high - low) / 2;
    const std::vector<LogTime> record = ReadLogTimes(fd, middle, 1);
    if (!record.empty() && record[0].unix_millis < unix_millis) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

// Records are read ahead in blocks. When the block is used up, the file is looked at again only
// after LookAgain(), that is, after new bytes of the log were read.
int64_t LogTimes::At(int64_t offset) {
  while (true) {
    if (next_ == records_.size()) {
      if (at_end_) return unix_millis_;
      const os::UniqueFd fd = OpenToRead(path_);
      records_ = ReadLogTimes(fd.get(), records_read_, kRecords);
      records_read_ += static_cast<int64_t>(records_.size());
      next_ = 0;
      at_end_ = records_.empty();
      continue;
    }
    if (records_[next_].offset > offset) return unix_millis_;
    unix_millis_ = records_[next_++].unix_millis;
  }
}

void LogReader::GoTo(int number, int64_t offset) {
  const auto pending = static_cast<int64_t>(pending_.size() - begin_);
  if (pending > 0 && line_start_.segment == 0) line_start_ = {number_, offset_ - pending};
  number_ = number;
  inode_ = 0;
  offset_ = offset;
  times_ = LogTimes(LogTimesPath(path_, number));
}

// Walks the segments backwards from the newest. Only the newest one can have an open last line.
void LogReader::SkipToLast(int64_t lines) {
  std::vector<int> segments = FindLogSegments(path_);
  std::reverse(segments.begin(), segments.end());
  bool newest = true;
  for (const int number : segments) {
    const os::UniqueFd fd = OpenToRead(LogSegmentPath(path_, number));
    const LastLines found = FindLastLines(fd.get(), lines, newest);
    lines -= found.count;
    GoTo(number, found.start);
    if (found.start > 0) return;
    newest = false;
  }
}

// Walks backwards to the newest segment that has a record older than `unix_millis`; the earlier
// segments are older still.
void LogReader::SkipToTime(int64_t unix_millis) {
  std::vector<int> segments = FindLogSegments(path_);
  std::reverse(segments.begin(), segments.end());
  for (const int number : segments) {
    const os::UniqueFd fd = OpenToRead(LogTimesPath(path_, number));
    const int64_t count = SizeOf(fd.get()) / kLogTimeBytes;
    const int64_t record = LastRecordBefore(fd.get(), count, unix_millis);
    const std::vector<LogTime> time = ReadLogTimes(fd.get(), std::max<int64_t>(0, record), 1);
    GoTo(number, record < 0 || time.empty() ? 0 : time[0].offset);
    if (record < 0) continue;
    // The records before this one may be many, and are of no use any more.
    times_ = LogTimes(LogTimesPath(path_, number), record);
    return;
  }
}

// A time may begin in the middle of a line, whose first part is older.
void LogReader::SkipToWhole(int64_t unix_millis) {
  SkipToTime(unix_millis);
  const int64_t from = std::max<int64_t>(0, offset_ - static_cast<int64_t>(kMaxLineBytes));
  const os::UniqueFd fd = OpenToRead(LogSegmentPath(path_, number_));
  std::string before(static_cast<size_t>(offset_ - from), '\0');
  const ssize_t size = pread(fd.get(), before.data(), before.size(), from);
  if (size != static_cast<ssize_t>(before.size())) return;
  const size_t newline = before.rfind('\n');
  if (newline != std::string::npos) {
    offset_ = from + static_cast<int64_t>(newline) + 1;
  } else if (from == 0) {
    offset_ = 0;
  }
}

int64_t LogReader::Unread() const {
  int64_t unread = static_cast<int64_t>(pending_.size() - begin_) - offset_;
  for (const int number : FindLogSegments(path_)) {
    if (number >= number_) unread += SizeOf(OpenToRead(LogSegmentPath(path_, number)).get());
  }
  return std::max<int64_t>(0, unread);
}

// Counting needs every byte, but no times and no copies of lines, so it keeps up with any program.
LogReader::LeftOut LogReader::LeaveOutAllBut(int64_t keep) {
  const int64_t surplus = Unread() - keep;
  LeftOut left_out;
  while (left_out.bytes < surplus) {
    // The first line's end behind the surplus, or the last one there is.
    const auto more = static_cast<size_t>(surplus - left_out.bytes);
    size_t newline = more < pending_.size() - begin_ ? pending_.find('\n', begin_ + more - 1)
                                                     : std::string::npos;
    if (newline == std::string::npos) newline = pending_.rfind('\n');
    size_t end = newline == std::string::npos ? begin_ : std::max(begin_, newline + 1);
    left_out.lines += std::count(pending_.begin() + static_cast<ptrdiff_t>(begin_),
                                 pending_.begin() + static_cast<ptrdiff_t>(end), '\n');
    // Next() would give out an overlong or a cut line as it is.
    const bool piece = pending_.size() - end >= kMaxLineBytes || (cut_ && end < pending_.size());
    if (piece) {
      end = pending_.size();
      ++left_out.lines;
    }
    if (end > begin_) {
      left_out.bytes += static_cast<int64_t>(end - begin_);
      GiveOut(end);
      continue;
    }
    cut_ = false;
    if (!Fill()) break;
  }
  return left_out;
}

// A line ends at '\n', at kMaxLineBytes, or where the log was cut: the rest of that line was
// dropped or replaced, so no continuation will come.
bool LogReader::FindEnd(size_t* end, size_t* text_end) {
  while (true) {
    const size_t newline = pending_.find('\n', searched_);
    if (newline != std::string::npos) {
      *end = newline + 1;
      *text_end = newline;
      return true;
    }
    searched_ = pending_.size();
    const size_t size = pending_.size() - begin_;
    if (size >= kMaxLineBytes || (cut_ && size > 0)) {
      *end = *text_end = pending_.size();
      return true;
    }
    cut_ = false;
    if (!Fill()) return false;
  }
}

bool LogReader::Next(LogLine* line) {
  size_t end = 0, text_end = 0;
  if (!FindEnd(&end, &text_end)) return false;
  Take(end, text_end, line);
  return true;
}

bool LogReader::Finish(LogLine* line) {
  if (Next(line)) return true;
  if (begin_ == pending_.size()) return false;
  Take(pending_.size(), pending_.size(), line);
  return true;
}

// The first line that is not passed over keeps the time of its first byte, since times are not
// looked up backwards.
int64_t LogReader::PassOver(int64_t whole_millis, int64_t most, bool open_end,
                            const std::function<bool()>& stop) {
  int64_t passed = 0;
  for (int64_t lines = 1;; ++lines) {
    if (stop != nullptr && lines % kLinesBetween == 0 && stop()) return passed;
    size_t end = 0, text_end = 0;
    if (!FindEnd(&end, &text_end)) {
      if (!open_end || begin_ == pending_.size()) return passed;
      end = pending_.size();
    }
    const int64_t whole = WholeMillis(end);
    if (whole > whole_millis || (whole == whole_millis && passed == most)) return passed;
    if (whole == whole_millis) ++passed;
    newest_ = std::max(newest_, line_time_);
    newest_whole_ = whole;
    GiveOut(end);
  }
}

// The time of a line is that of its first byte. `newest_` keeps times from going back, as they
// would after the host's clock was set back. The last byte of a cut line lies in an earlier segment
// than `times_`, which has no time for it.
int64_t LogReader::WholeMillis(size_t end) {
  if (line_time_ < 0) {
    line_time_ = times_.At(offset_ - static_cast<int64_t>(pending_.size() - begin_));
  }
  const int64_t last_time = times_.At(offset_ - static_cast<int64_t>(pending_.size() - end) - 1);
  return std::max({newest_whole_, newest_, line_time_, last_time});
}

void LogReader::Take(size_t end, size_t text_end, LogLine* line) {
  newest_whole_ = WholeMillis(end);
  newest_ = std::max(newest_, line_time_);
  line->whole_millis = newest_whole_;
  const int64_t start = offset_ - static_cast<int64_t>(pending_.size() - begin_);
  line->position = line_start_.segment != 0 ? line_start_ : LogPosition{number_, start};
  line->text.assign(pending_, begin_, text_end - begin_);
  line->unix_millis = newest_;
  GiveOut(end);
}

void LogReader::GiveOut(size_t end) {
  begin_ = end;
  searched_ = end;
  line_time_ = -1;
  line_start_ = {};
  if (begin_ == pending_.size()) {
    pending_.clear();
    begin_ = searched_ = 0;
    cut_ = false;
  }
}

bool LogReader::Fill() {
  pending_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  while (true) {
    const ssize_t count = number_ == 0 ? -1 : ReadSegment();
    if (count > 0 || cut_) return true;
    const std::vector<int> segments = FindLogSegments(path_);
    const auto next = std::upper_bound(segments.begin(), segments.end(), number_);
    if (next == segments.end()) return false;
    // A segment is complete once the next one exists; it may have grown just before that, so it is
    // read once more.
    if (count == 0 && ReadSegment() > 0) return true;
    const bool pending = !pending_.empty();
    // The line's time is looked up now, because GoTo() changes to the times of the next segment. A
    // gap in the numbers means that segments were dropped, so the pending bytes are a cut line.
    if (pending && line_time_ < 0) {
      line_time_ = times_.At(offset_ - static_cast<int64_t>(pending_.size()));
    }
    cut_ = pending && *next != number_ + 1;
    GoTo(*next, 0);
    if (cut_) return true;
  }
}

ssize_t LogReader::ReadSegment() {
  const os::UniqueFd fd = OpenToRead(LogSegmentPath(path_, number_));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return -1;
  // A replaced file (another inode) or a truncated one (shorter than the offset) is read again from
  // its start; pending bytes of the old contents are given out as a line first.
  const bool other_file = inode_ != 0 && status.st_ino != inode_;
  if (other_file || status.st_size < offset_) {
    cut_ = !pending_.empty();
    if (cut_ && line_time_ < 0) line_time_ = newest_;
    GoTo(number_, 0);
    inode_ = status.st_ino;
    if (cut_) return 0;
  }
  inode_ = status.st_ino;
  const size_t before = pending_.size();
  const size_t more =
      std::min<size_t>(kChunk, static_cast<size_t>(std::max<int64_t>(1, status.st_size - offset_)));
  pending_.resize(before + more);
  const ssize_t count = pread(fd.get(), pending_.data() + before, more, offset_);
  pending_.resize(before + static_cast<size_t>(std::max<ssize_t>(0, count)));
  if (count > 0) offset_ += count;
  times_.LookAgain();
  return count;
}

}  // namespace tony::logs
