// Numbers of the request are brought into their bounds, and what is read into a message.
#include "executor/output/log_answers.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "core/tasks/arrival_dates.h"
#include "logs/container_logs.h"
#include "logs/error_finder.h"
#include "logs/level_filter.h"
#include "logs/log_block.h"
#include "logs/log_bytes.h"
#include "logs/log_merge.h"
#include "rpc/convert/log_lines.h"

namespace tony::executor {
namespace {

using Stream = logs::ContainerLogFile::Stream;

/// Nothing for a log that cannot exist.
std::optional<logs::ContainerLogFile> FileOf(const v1::ReadLog& wish) {
  logs::ContainerLogFile file;
  file.attempt = wish.attempt();
  switch (wish.stream()) {
    case v1::ReadLog::STDOUT:
      file.stream = Stream::kStdout;
      break;
    case v1::ReadLog::STDERR:
      file.stream = Stream::kStderr;
      break;
    case v1::ReadLog::EXECUTOR:
      file.stream = Stream::kExecutor;
      break;
    default:
      return std::nullopt;
  }
  return logs::IsContainerLog(file) ? std::optional(file) : std::nullopt;
}

v1::ReadLog::Stream StreamOf(const logs::ContainerLogFile& file) {
  if (file.stream == Stream::kStdout) return v1::ReadLog::STDOUT;
  return file.stream == Stream::kStderr ? v1::ReadLog::STDERR : v1::ReadLog::EXECUTOR;
}

size_t Within(int64_t value, int64_t least, int64_t most) {
  return static_cast<size_t>(std::clamp(value, least, most));
}

absl::StatusOr<logs::LogSearch> SearchOf(const v1::ReadLog& wish) {
  logs::LogSearch search;
  search.offset = wish.offset();
  search.pattern = wish.search().pattern();
  search.context = Within(wish.search().context(), 0, 100);
  search.hits = Within(wish.search().hits(), 1, 1000);
  TONY_ASSIGN_OR_RETURN(search.level, logs::WantedLevel(wish.search().level()));
  search.levels = wish.stream() == v1::ReadLog::EXECUTOR;
  search.limit = Within(wish.limit_bytes(), 1, LogAnswers::kMostBytes);
  return search;
}

absl::StatusOr<v1::LogLines> ReadBytes(const std::string& path, int64_t offset, size_t limit) {
  TONY_ASSIGN_OR_RETURN(const logs::LogBytes log, logs::LogBytes::Open(path));
  const int64_t begin = log.Existing(std::max<int64_t>(0, offset));
  TONY_ASSIGN_OR_RETURN(std::string bytes, log.Read(begin, limit));
  const int64_t end = begin + static_cast<int64_t>(bytes.size());
  v1::LogLines lines;
  lines.set_offset(begin);
  lines.set_end(end);
  lines.set_size(log.size());
  lines.set_dropped_offset(log.dropped_offset());
  lines.set_dropped_bytes(log.dropped_bytes());
  if (end < log.size()) lines.set_next(log.Existing(end));
  lines.set_raw(std::move(bytes));
  return lines;
}

v1::PrintedError ToProto(const logs::ContainerLogFile& log, logs::PrintedError error) {
  // A line has 64 KiB at most, and a traceback hundreds of lines: the first ones tell the most.
  size_t room = LogAnswers::kMostBytes;
  v1::PrintedError printed;
  printed.set_attempt(log.attempt);
  printed.set_stream(StreamOf(log));
  printed.set_line(error.line_number);
  printed.set_unix_millis(error.unix_millis);
  if (error.offset >= 0) printed.set_offset(error.offset);
  for (std::string& line : error.before) {
    if (line.size() > room / 2) line.resize(room / 2);
    room -= line.size();
    printed.add_before(std::move(line));
  }
  for (std::string& line : error.lines) {
    line.resize(std::min(line.size(), room));
    room -= line.size();
    printed.add_lines(std::move(line));
    if (room == 0) break;
  }
  return printed;
}

absl::StatusOr<v1::LogLines> FindError(const std::string& folder, int attempt, int64_t since_millis,
                                       const std::function<bool()>& enough) {
  v1::LogLines lines;
  std::optional<logs::PrintedError> best;
  logs::ContainerLogFile of_best;
  for (const logs::ContainerLogFile& log : logs::FindContainerLogs(folder)) {
    if (!log.of_program() || (attempt != 0 && log.attempt != attempt)) continue;
    const std::string path = absl::StrCat(folder, "/", logs::ContainerLogName(log));
    const absl::StatusOr<logs::LogBytes> bytes = logs::LogBytes::Open(path);
    if (!bytes.ok()) continue;  // the program has put something else in its place
    if (bytes->size() > 0) lines.set_printed(true);
    auto error = logs::FindFirstErrorIn(path, since_millis, enough);
    if (!error || (best && !logs::ExplainsMore(*error, *best))) continue;
    best = std::move(error);
    of_best = log;
  }
  if (best) *lines.mutable_error() = ToProto(of_best, *std::move(best));
  return lines;
}

absl::StatusOr<logs::MergeRange> RangeOf(const v1::ReadLog& wish) {
  const v1::MergeWish& merge = wish.merge();
  logs::MergeRange range;
  range.place = {std::max<int64_t>(0, merge.place_millis()),
                 std::max<int64_t>(0, merge.place_skip())};
  range.since = merge.since_millis();
  range.open_ends = merge.open_ends();
  range.pattern = merge.pattern();
  range.lines = Within(merge.lines(), 1, 5000);
  range.bytes = Within(wish.limit_bytes(), 1, LogAnswers::kMostBytes);
  TONY_ASSIGN_OR_RETURN(range.level, logs::WantedLevel(merge.level()));
  return range;
}

absl::StatusOr<v1::LogLines> Merge(const std::string& folder, const v1::MergeWish& wish,
                                   const logs::MergeRange& range,
                                   const std::function<bool()>& enough,
                                   const std::function<bool()>& stop) {
  const auto wanted = [&wish](Stream stream) {
    if (stream == Stream::kStdout) return wish.standard_output();
    if (stream == Stream::kStderr) return wish.standard_error();
    return stream == Stream::kExecutor && wish.executor();
  };
  std::vector<logs::ContainerLogFile> files;
  std::vector<logs::MergeSource> sources;
  for (const logs::ContainerLogFile& log : logs::FindContainerLogs(folder)) {
    if (!wanted(log.stream)) continue;
    files.push_back(log);
    sources.push_back({absl::StrCat(folder, "/", logs::ContainerLogName(log)), !log.of_program()});
  }
  TONY_ASSIGN_OR_RETURN(logs::MergedPage page, logs::MergeLogs(sources, range, enough, stop));
  v1::LogLines lines;
  v1::MergedLines& merged = *lines.mutable_merged();
  for (logs::MergedRow& row : page.rows) {
    v1::MergedLines::Row& added = *merged.add_rows();
    added.set_unix_millis(row.unix_millis);
    added.set_place(row.place);
    added.set_attempt(files[row.source].attempt);
    added.set_stream(StreamOf(files[row.source]));
    added.set_text(std::move(row.text));
  }
  merged.set_place_millis(page.next.millis);
  merged.set_place_skip(page.next.skip);
  merged.set_more(page.more);
  return lines;
}

/// A wish comes within this time, or its answer is not awaited any more.
constexpr int64_t kMostDelayMillis = 10'000;

}  // namespace

void LogAnswers::Run(int64_t request,
                     std::function<absl::StatusOr<v1::LogLines>(const Worker::Stop&)> work) {
  worker_.Run<v1::LogLines>(
      nullptr, std::move(work), [this, request](absl::StatusOr<v1::LogLines> result) {
        v1::LogLines lines = result.ok() ? *std::move(result) : rpc::ToProto(result.status());
        lines.set_request(request);
        send_(std::move(lines));
      });
}

void LogAnswers::Answer(const v1::ReadLog& wish) {
  if (wish.has_find_error()) {
    const v1::ErrorWish& error = wish.find_error();
    // The wish's own way makes this clock look ahead by as long.
    const int64_t measured = core::ClockAhead(clock_.UnixMillis(), error.sent_millis());
    const int64_t ahead = measured > 0 && measured < kMostDelayMillis ? 0 : measured;
    return Run(wish.request(), [this, attempt = wish.attempt(),
                                since = error.since_millis() + ahead](const auto& stop) {
      absl::StatusOr<v1::LogLines> lines =
          FindError(folder_, attempt, since, logs::OutOfTime(clock_, stop));
      if (lines.ok()) lines->set_host_millis(clock_.UnixMillis());
      return lines;
    });
  }
  if (!wish.has_merge()) return AnswerFromOne(wish);
  absl::StatusOr<logs::MergeRange> range = RangeOf(wish);
  if (!range.ok()) {
    v1::LogLines refusal = rpc::ToProto(range.status());
    refusal.set_request(wish.request());
    return send_(std::move(refusal));
  }
  Run(wish.request(),
      [this, merge = wish.merge(), range = *std::move(range)](const auto& stop) mutable {
        range.horizon = clock_.UnixMillis() - logs::kWritingTime.count();
        return Merge(folder_, merge, range, logs::OutOfTime(clock_, stop), stop);
      });
}

void LogAnswers::AnswerFromOne(const v1::ReadLog& wish) {
  const auto take = [this, request = wish.request()](absl::StatusOr<logs::LogBlock> block) {
    v1::LogLines lines = rpc::ToProto(std::move(block));
    lines.set_request(request);
    send_(std::move(lines));
  };
  const std::optional<logs::ContainerLogFile> file = FileOf(wish);
  if (!file) return take(absl::NotFoundError("the container cannot have such a log"));
  const std::string path = absl::StrCat(folder_, "/", logs::ContainerLogName(*file));
  const absl::StatusOr<logs::LogSearch> search = SearchOf(wish);
  if (!search.ok()) return take(search.status());
  if (wish.raw()) {
    return Run(wish.request(), [path, offset = search->offset, limit = search->limit](const auto&) {
      return ReadBytes(path, offset, limit);
    });
  }
  if (wish.has_search()) return lookup_.Search(path, *search, nullptr, take);
  lookup_.ReadBlock(path, search->offset, search->limit, nullptr, take);
}

}  // namespace tony::executor
