// The readers are those of src/logs and src/history; here they get a thread and pages.
#include "pagedata/folder_job_logs.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/first_error.h"
#include "history/job_logs.h"
#include "history/log_stream.h"
#include "logs/log_bytes.h"

namespace tony::pagedata {
namespace {

constexpr size_t kRawPieceBytes = size_t{256} * 1024;

/// Counts the lines of a merged stream, so that the next page can find its begin: that is the time
/// of the last line, and how many lines from that time on were used up. Lines without a time come
/// first in every stream, so they count whatever the time is. Not thread safe.
class MergePage {
 public:
  MergePage(const web::MergeWish& wish, web::MergedLines& page) : wish_(wish), page_(page) {
    page_.next_millis = std::max<int64_t>(0, wish.since_millis);
    if (!wish.match.empty()) {
      RE2::Options options(RE2::Quiet);
      options.set_never_nl(true);
      pattern_ = std::make_unique<RE2>(wish.match, options);
    }
  }

  bool full() const { return page_.lines.size() >= wish_.limit || bytes_ >= kMostBytes; }

  void Add(const history::LogFile& log, const logs::LogLine& line) {
    if (line.unix_millis == 0) {
      ++untimed_;
    } else if (line.unix_millis == page_.next_millis) {
      ++of_last_time_;
    } else {
      page_.next_millis = line.unix_millis;
      of_last_time_ = 1;
    }
    page_.next_skip = untimed_ + of_last_time_;
    if (seen_++ < wish_.skip) return;
    if (pattern_ != nullptr && !RE2::PartialMatch(line.text, *pattern_)) return;
    page_.lines.push_back({line.unix_millis, log.task, log.attempt, log.stream, line.text});
    bytes_ += line.text.size();
  }

 private:
  /// Lines may have 64 KiB each.
  static constexpr size_t kMostBytes = size_t{1} << 20;

  const web::MergeWish& wish_;
  web::MergedLines& page_;
  size_t bytes_ = 0;
  std::unique_ptr<RE2> pattern_;
  int64_t seen_ = 0;
  int64_t untimed_ = 0;
  int64_t of_last_time_ = 0;
};

absl::StatusOr<history::LogStreamOptions> OptionsOf(const core::JobView& view,
                                                    const web::MergeWish& wish) {
  history::LogStreamOptions options;
  if (!wish.task.empty()) {
    absl::StatusOr<std::string> task = history::ResolveTask(view, wish.task);
    if (!task.ok()) return absl::InvalidArgumentError(task.status().message());
    options.selection.task = *std::move(task);
  }
  options.selection.standard_output = wish.standard_output;
  options.selection.standard_error = wish.standard_error;
  options.selection.executor = wish.executor;
  options.since = wish.since_millis;
  if (!wish.level.empty()) {
    TONY_ASSIGN_OR_RETURN(options.level, ParseLogLevel(wish.level));
  }
  if (!wish.match.empty()) TONY_RETURN_IF_ERROR(logs::CheckLogPattern(wish.match));
  // While programs write, a line without an end is not shown: its rest would be missing for ever.
  options.complete_lines = std::any_of(view.tasks.begin(), view.tasks.end(), [](const auto& task) {
    return task.last.state == core::TaskState::kRunning;
  });
  return options;
}

std::optional<web::PrintedFailure> Printed(const std::optional<history::FoundError>& found) {
  if (!found) return std::nullopt;
  return web::PrintedFailure{found->log.task,          found->log.attempt,
                             found->log.stream,        found->error.line_number,
                             found->error.unix_millis, found->error.before,
                             found->error.lines,       history::IsMention(*found)};
}

/// Reads on the event loop: a piece is in the page cache, or is read ahead by the kernel. Not
/// thread safe.
class RawSource : public web::BodySource {
 public:
  explicit RawSource(logs::LogBytes log) : log_(std::move(log)), at_(log_.Existing(0)) {}

  void Next(Take take) override {
    if (at_ >= log_.size()) return take(nullptr);
    absl::StatusOr<std::string> bytes = log_.Read(at_, kRawPieceBytes);
    if (!bytes.ok()) return take(bytes.status());
    if (bytes->empty()) return take(absl::DataLossError("a part of the log was dropped meanwhile"));
    at_ = log_.Existing(at_ + static_cast<int64_t>(bytes->size()));
    take(std::make_shared<const std::string>(*std::move(bytes)));
  }

 private:
  const logs::LogBytes log_;
  int64_t at_;
};

}  // namespace

std::string FolderJobLogs::PathOf(const web::LogName& name) const {
  if (name.stream == "am") return folder_.am_log();
  if (name.stream == "executor") return absl::StrCat(folder_.task_logs(name.task), "/executor.log");
  return absl::StrCat(folder_.task_logs(name.task), "/attempt-", name.attempt, "/", name.stream,
                      ".log");
}

void FolderJobLogs::ReadBlock(const web::LogName& name, int64_t offset, size_t limit,
                              Abandoned abandoned, Take<logs::LogBlock> take) {
  lookup_.ReadBlock(PathOf(name), offset, limit, std::move(abandoned), std::move(take));
}

void FolderJobLogs::Search(const web::LogName& name, const logs::LogSearch& search,
                           Abandoned abandoned, Take<logs::LogBlock> take) {
  lookup_.Search(PathOf(name), search, std::move(abandoned), std::move(take));
}

void FolderJobLogs::Merge(const core::JobView& view, const web::MergeWish& wish,
                          Abandoned abandoned, Take<web::MergedLines> take) {
  absl::StatusOr<history::LogStreamOptions> options = OptionsOf(view, wish);
  if (!options.ok()) return take(options.status());
  worker_.Run<web::MergedLines>(
      std::move(abandoned),
      [this, options = *std::move(options),
       wish](const Worker::Stop& stop) mutable -> absl::StatusOr<web::MergedLines> {
        web::MergedLines page;
        MergePage lines(wish, page);
        options.enough = [&, over = logs::OutOfTime(clock_, stop)] {
          page.more = lines.full() || over();
          return page.more;
        };
        history::LogStream stream(
            folder_, options, clock_,
            [&](const history::LogFile& log, const logs::LogLine& line) { lines.Add(log, line); });
        page.empty = stream.PrintAll() == 0;
        return page;
      },
      std::move(take));
}

// The view is copied, since the job goes on while its logs are read.
void FolderJobLogs::FindErrors(const core::JobView& view, Abandoned abandoned,
                               Take<web::JobErrors> take) {
  worker_.Run<web::JobErrors>(
      std::move(abandoned),
      [this, view = std::make_shared<const core::JobView>(view)](
          const Worker::Stop& stop) -> absl::StatusOr<web::JobErrors> {
        web::JobErrors errors;
        const std::optional<history::Failure> failure = history::FindFailure(*view, folder_);
        if (!failure) return errors;
        errors.failure = {failure->sentence, failure->guilty, failure->attempt, failure->exit};
        const history::FailureErrors found = history::FindErrorsOf(*failure, folder_, {}, stop);
        errors.own = Printed(found.own);
        errors.printed = found.printed;
        errors.after = Printed(found.after);
        return errors;
      },
      std::move(take));
}

void FolderJobLogs::OpenRaw(const web::LogName& name, Abandoned abandoned, Take<web::RawLog> take) {
  worker_.Run<web::RawLog>(
      std::move(abandoned),
      [path = PathOf(name)](const Worker::Stop&) -> absl::StatusOr<web::RawLog> {
        TONY_ASSIGN_OR_RETURN(logs::LogBytes log, logs::LogBytes::Open(path));
        const int64_t bytes = log.size() - log.dropped_bytes();
        return web::RawLog{bytes, std::make_shared<RawSource>(std::move(log))};
      },
      std::move(take));
}

}  // namespace tony::pagedata
