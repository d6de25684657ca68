// The readers are those of src/logs and src/history; here they get a thread and pages.
#include "pagedata/folder_job_logs.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/first_error.h"
#include "history/job_logs.h"
#include "logs/log_merge.h"
#include "pagedata/merge_range.h"
#include "pagedata/raw_log.h"

namespace tony::pagedata {
namespace {

absl::StatusOr<history::LogSelection> SelectionOf(const core::JobView& view,
                                                  const web::MergeWish& wish) {
  history::LogSelection selection;
  if (!wish.task.empty()) {
    absl::StatusOr<std::string> task = history::ResolveTask(view, wish.task);
    if (!task.ok()) return absl::InvalidArgumentError(task.status().message());
    selection.task = *std::move(task);
  }
  selection.standard_output = wish.standard_output;
  selection.standard_error = wish.standard_error;
  selection.executor = wish.executor;
  return selection;
}

absl::StatusOr<logs::MergeRange> RangeOf(const core::JobView& view, const web::MergeWish& wish,
                                         int64_t now_millis) {
  TONY_ASSIGN_OR_RETURN(logs::MergeRange range, MergeRangeOf(wish));
  // While programs write, a line without an end is not shown: its rest would be missing for ever.
  range.open_ends = std::none_of(view.tasks.begin(), view.tasks.end(), [](const auto& task) {
    return task.last.state == core::TaskState::kRunning;
  });
  if (!view.verdict) range.horizon = now_millis - logs::kWritingTime.count();
  return range;
}

web::MergedLines PageOf(logs::MergedPage merged, const std::vector<history::LogFile>& files) {
  web::MergedLines page;
  page.next.place = merged.next;
  page.more = merged.more;
  page.empty = files.empty();
  for (logs::MergedRow& row : merged.rows) {
    const history::LogFile& log = files[row.source];
    page.lines.push_back({row.unix_millis, log.task, log.attempt, log.stream, std::move(row.text)});
  }
  return page;
}

std::optional<web::PrintedFailure> Printed(const std::optional<history::FoundError>& found) {
  if (!found) return std::nullopt;
  return web::PrintedFailure{
      found->log.task,          found->log.attempt,         found->log.stream,
      found->error.line_number, found->error.unix_millis,   found->error.before,
      found->error.lines,       history::IsMention(*found), found->error.offset};
}

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
  const absl::StatusOr<history::LogSelection> selection = SelectionOf(view, wish);
  if (!selection.ok()) return take(selection.status());
  const absl::StatusOr<logs::MergeRange> range = RangeOf(view, wish, clock_.UnixMillis());
  if (!range.ok()) return take(range.status());
  worker_.Run<web::MergedLines>(
      std::move(abandoned),
      [this, selection = *selection,
       range = *range](const Worker::Stop& stop) -> absl::StatusOr<web::MergedLines> {
        const std::vector<history::LogFile> files = history::FindLogs(folder_, selection);
        std::vector<logs::MergeSource> sources;
        for (const history::LogFile& log : files) {
          sources.push_back({log.path, log.stream == "executor" || log.stream == "am"});
        }
        TONY_ASSIGN_OR_RETURN(logs::MergedPage page,
                              logs::MergeLogs(sources, range, logs::OutOfTime(clock_, stop), stop));
        return PageOf(std::move(page), files);
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
      std::move(abandoned), [path = PathOf(name)](const Worker::Stop&) { return OpenRawLog(path); },
      std::move(take));
}

}  // namespace tony::pagedata
