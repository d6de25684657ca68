// Makes questions to executors of what the API wants, and its answers of theirs.
#include "appmaster/page/node_logs.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "appmaster/page/merge_answers.h"
#include "appmaster/page/node_download.h"
#include "common/status_macros.h"
#include "core/tasks/arrival_dates.h"
#include "history/job_logs.h"
#include "logs/error_finder.h"
#include "logs/level_filter.h"
#include "logs/log_block.h"
#include "pagedata/merge_range.h"
#include "pagedata/raw_log.h"
#include "rpc/convert/log_lines.h"

namespace tony::appmaster {
namespace {

/// The lines of all executors together are some 2 MiB; each gives at least one line.
constexpr size_t kMergeBytes = size_t{2} << 20;
constexpr size_t kMostMergeBytes = 256 * 1024;
/// By so much the clocks of two hosts may differ before their logs cannot be merged.
constexpr int64_t kMostSkewMillis = 15'000;
/// The others' lines wait so long for an executor that does not answer; after that they are read
/// without its lines.
constexpr std::chrono::seconds kSilence{10};
/// Sentences about single tasks in one answer.
constexpr size_t kMostNotes = 8;

v1::ReadLog::Stream StreamOf(const std::string& stream) {
  if (stream == "stdout") return v1::ReadLog::STDOUT;
  if (stream == "stderr") return v1::ReadLog::STDERR;
  return v1::ReadLog::EXECUTOR;
}

NodeQuestion QuestionOf(const web::LogName& name) {
  NodeQuestion question{name.task, {}};
  question.wish.set_stream(StreamOf(name.stream));
  question.wish.set_attempt(name.attempt);
  return question;
}

NodeQuestion ErrorQuestion(const core::TaskId& task, int attempt, int64_t since_millis) {
  NodeQuestion question{task, {}};
  question.wish.set_attempt(attempt);
  question.wish.mutable_find_error()->set_since_millis(since_millis);
  return question;
}

/// The failure that ended the job, or the newest one of a job that goes on.
std::optional<web::JobErrors::Failure> FailureOf(const core::JobView& view) {
  web::JobErrors::Failure failure;
  if (view.verdict) {
    if (view.verdict->outcome == core::Outcome::kSucceeded) return std::nullopt;
    failure.sentence = view.verdict->sentence;
    failure.guilty = view.verdict->guilty;
    failure.exit = view.verdict->exit;
    const core::JobView::Task* const task =
        failure.guilty ? view.FindTask(*failure.guilty) : nullptr;
    if (task != nullptr) failure.attempt = task->last.attempt;
    return failure;
  }
  if (view.attempts.empty()) return std::nullopt;
  const core::JobView::Attempt& newest = view.attempts.back();
  return web::JobErrors::Failure{newest.cause, newest.guilty, newest.number, std::nullopt};
}

/// With the date by this host's clock, by which errors of different hosts are compared.
logs::PrintedError FromProto(const v1::PrintedError& printed) {
  return {printed.line(),
          printed.dated_millis(),
          {printed.before().begin(), printed.before().end()},
          {printed.lines().begin(), printed.lines().end()}};
}

/// The error that explains the most; of errors of the same time, that of the first task.
std::optional<web::PrintedFailure> BestOf(const std::vector<NodeAnswer>& answers) {
  std::optional<logs::PrintedError> best;
  const NodeAnswer* of_best = nullptr;
  for (const NodeAnswer& answer : answers) {
    if (!answer.lines.ok() || answer.lines->error().lines().empty()) continue;
    logs::PrintedError error = FromProto(answer.lines->error());
    if (best && !logs::ExplainsMore(error, *best)) continue;
    best = std::move(error);
    of_best = &answer;
  }
  if (!best) return std::nullopt;
  const v1::PrintedError& printed = of_best->lines->error();
  const char* const stream = printed.stream() == v1::ReadLog::STDERR ? "stderr" : "stdout";
  const bool mention = logs::IsMention(*best);
  return web::PrintedFailure{of_best->task.ToString(),
                             printed.attempt(),
                             stream,
                             best->line_number,
                             printed.unix_millis(),
                             std::move(best->before),
                             std::move(best->lines),
                             mention,
                             printed.has_offset() ? printed.offset() : -1};
}

/// A log is missing where the program has printed nothing yet, which is nothing to speak of.
bool IsTrouble(const absl::Status& status) { return !status.ok() && !absl::IsNotFound(status); }

std::string NoteOf(const NodeAnswer& answer) {
  std::string sentence(answer.lines.status().message());
  const std::string task = answer.task.ToString();
  if (!absl::StrContains(sentence, task)) sentence = absl::StrCat(task, ": ", sentence);
  return sentence;
}

/// ResourceExhausted – nobody has answered since too much is being asked; OK otherwise. A single
/// executor that is busy is one that is missing, and no reason to show nothing of the others.
absl::Status CrowdOf(const std::vector<NodeAnswer>& answers) {
  if (answers.empty()) return absl::OkStatus();
  for (const NodeAnswer& answer : answers) {
    if (!absl::IsResourceExhausted(answer.lines.status())) return absl::OkStatus();
  }
  return answers.front().lines.status();
}

/// At most kMostNotes sentences; the last one says how many are left out.
void Limit(std::vector<std::string>& notes) {
  if (notes.size() <= kMostNotes) return;
  const size_t left_out = notes.size() - kMostNotes + 1;
  notes.resize(kMostNotes - 1);
  notes.push_back(absl::StrCat("and ", left_out, " more of this kind"));
}

absl::Status Check(const web::MergeWish& wish) {
  if (!wish.match.empty()) TONY_RETURN_IF_ERROR(logs::CheckLogPattern(wish.match));
  return logs::WantedLevel(wish.level).status();
}

}  // namespace

void NodeLogs::ReadBlock(const web::LogName& name, int64_t offset, size_t limit,
                         Abandoned abandoned, Take<logs::LogBlock> take) {
  if (name.stream == "am") {
    return lookup_.ReadBlock(own_log_, offset, limit, std::move(abandoned), std::move(take));
  }
  NodeQuestion question = QuestionOf(name);
  question.wish.set_offset(offset);
  question.wish.set_limit_bytes(static_cast<int64_t>(limit));
  AskForBlock(std::move(question), std::move(take));
}

void NodeLogs::Search(const web::LogName& name, const logs::LogSearch& search, Abandoned abandoned,
                      Take<logs::LogBlock> take) {
  if (name.stream == "am") {
    return lookup_.Search(own_log_, search, std::move(abandoned), std::move(take));
  }
  NodeQuestion question = QuestionOf(name);
  question.wish.set_offset(search.offset);
  question.wish.set_limit_bytes(static_cast<int64_t>(search.limit));
  v1::LogPattern& pattern = *question.wish.mutable_search();
  pattern.set_pattern(search.pattern);
  pattern.set_context(static_cast<int32_t>(search.context));
  pattern.set_hits(static_cast<int32_t>(search.hits));
  if (search.level) pattern.set_level(LogLevelName(*search.level));
  AskForBlock(std::move(question), std::move(take));
}

void NodeLogs::AskForBlock(NodeQuestion question, Take<logs::LogBlock> take) {
  reads_.Ask(std::move(question), [take = std::move(take)](absl::StatusOr<v1::LogLines> lines) {
    if (!lines.ok()) return take(lines.status());
    take(rpc::FromProto(*std::move(lines)));
  });
}

// A cursor orders tasks by their ids, so they are asked in that order, whatever the job's is.
NodeLogs::Chosen NodeLogs::Choose(const core::JobView& view, const std::string& selection) const {
  Chosen chosen;
  size_t gone = 0;
  for (const core::JobView::Task& task : view.tasks) {
    const core::TaskId& id = task.last.task;
    const bool wanted =
        selection.empty() || selection == id.ToString() || selection == core::TypeName(id.type);
    if (!wanted || task.last.attempt == 0) continue;  // it has not been started yet
    const core::Task* const now = machine_.tasks().Find(id);
    if (now != nullptr && now->container) {
      chosen.tasks.push_back(id);
    } else {
      ++gone;
    }
  }
  std::sort(chosen.tasks.begin(), chosen.tasks.end());
  if (gone > 0) {
    chosen.notes.push_back(absl::StrCat(
        gone, gone == 1 ? " task has" : " tasks have",
        " no container any more, so this page cannot read what was printed there; the command  "
        "tony logs ",
        view.job.job_id, "  can."));
  }
  if (chosen.tasks.size() > kMostTasks) {
    chosen.notes.push_back(absl::StrCat("These are the logs of the first ", kMostTasks, " of ",
                                        chosen.tasks.size(),
                                        " tasks; choose one task to see another's."));
    chosen.tasks.resize(kMostTasks);
  }
  return chosen;
}

void NodeLogs::MergeOwn(const web::MergeWish& wish, Abandoned abandoned,
                        Take<web::MergedLines> take) {
  const absl::StatusOr<logs::MergeRange> range = pagedata::MergeRangeOf(wish);
  if (!range.ok()) return take(range.status());
  worker_.Run<web::MergedLines>(
      std::move(abandoned),
      [this, range = *range](const Worker::Stop& stop) -> absl::StatusOr<web::MergedLines> {
        TONY_ASSIGN_OR_RETURN(
            logs::MergedPage merged,
            logs::MergeLogs({{own_log_, true}}, range, logs::OutOfTime(clock_, stop), stop));
        web::MergedLines page;
        page.next.place = merged.next;
        page.more = merged.more;
        for (logs::MergedRow& row : merged.rows) {
          page.lines.push_back({row.unix_millis, "am", 0, "am", std::move(row.text)});
        }
        return page;
      },
      std::move(take));
}

void NodeLogs::Merge(const core::JobView& view, const web::MergeWish& wish, Abandoned abandoned,
                     Take<web::MergedLines> take) {
  std::string selection;
  if (!wish.task.empty()) {
    absl::StatusOr<std::string> task = history::ResolveTask(view, wish.task);
    if (!task.ok()) return take(absl::InvalidArgumentError(task.status().message()));
    selection = *std::move(task);
  }
  if (const absl::Status good = Check(wish); !good.ok()) return take(good);
  if (selection == core::kMasterTaskType) {
    return MergeOwn(wish, std::move(abandoned), std::move(take));
  }
  Chosen chosen = Choose(view, selection);
  const web::MergeCursor cursor = wish.cursor.value_or(web::MergeCursor{});
  const size_t share = kMergeBytes / std::max<size_t>(1, chosen.tasks.size());
  std::vector<NodeQuestion> questions;
  for (const core::TaskId& task : chosen.tasks) {
    NodeQuestion question{task, {}};
    question.wish.set_limit_bytes(static_cast<int64_t>(std::min(share, kMostMergeBytes)));
    v1::MergeWish& merge = *question.wish.mutable_merge();
    merge.set_standard_output(wish.standard_output);
    merge.set_standard_error(wish.standard_error);
    merge.set_executor(wish.executor);
    const logs::MergePlace place = PlaceIn(task, cursor);
    merge.set_place_millis(place.millis);
    merge.set_place_skip(place.skip);
    merge.set_since_millis(std::max<int64_t>(0, wish.since_millis));
    merge.set_open_ends(machine_.tasks().Find(task)->state != core::TaskState::kRunning);
    merge.set_pattern(wish.match);
    merge.set_level(wish.level);
    merge.set_lines(static_cast<int32_t>(wish.limit));
    questions.push_back(std::move(question));
  }
  reads_.AskAll(std::move(questions), std::move(abandoned),
                [this, wish, take = std::move(take),
                 notes = std::move(chosen.notes)](std::vector<NodeAnswer> answers) {
                  const absl::Status crowd = CrowdOf(answers);
                  if (!crowd.ok()) return take(crowd);
                  take(PageOf(std::move(answers), notes, wish));
                });
}

// A page without the lines of a task that is silent for a moment would lead a follower past them.
bool NodeLogs::WaitsFor(const NodeAnswer& answer) {
  const absl::Status status = answer.lines.status();
  if (!absl::IsUnavailable(status) && !absl::IsResourceExhausted(status)) {
    silent_since_.erase(answer.task);
    return false;
  }
  const TimePoint now = clock_.Now();
  return now - silent_since_.try_emplace(answer.task, now).first->second < kSilence;
}

// A host whose clock is far off would hold all others' lines back, or its own.
web::MergedLines NodeLogs::PageOf(std::vector<NodeAnswer> answers, std::vector<std::string> notes,
                                  const web::MergeWish& wish) {
  std::vector<TaskLines> parts;
  const int64_t now = clock_.UnixMillis();
  bool waits = false;
  const bool alone = answers.size() == 1;
  for (NodeAnswer& answer : answers) {
    if (WaitsFor(answer)) waits = true;
    if (IsTrouble(answer.lines.status())) notes.push_back(NoteOf(answer));
    if (!answer.lines.ok() || !answer.lines->has_merged()) continue;
    const v1::MergedLines& merged = answer.lines->merged();
    const int64_t skew = merged.place_millis() - now;
    if (!alone && !merged.more() && std::abs(skew) > kMostSkewMillis) {
      notes.push_back(absl::StrCat("the clock of ", answer.task.ToString(), "'s machine is ",
                                   std::abs(skew) / 1000, " s ", skew > 0 ? "ahead" : "behind",
                                   ", so its lines cannot be merged; choose it alone"));
      continue;
    }
    parts.push_back({answer.task, std::move(*answer.lines->mutable_merged())});
  }
  if (waits && wish.cursor) parts.clear();
  web::MergedLines page =
      MergeAnswers(std::move(parts), wish.cursor.value_or(web::MergeCursor{}), wish.limit);
  // A follower goes on from its cursor, even if nobody answers this time.
  if (wish.cursor) page.empty = false;
  Limit(notes);
  page.notes = std::move(notes);
  return page;
}

// The guilty run's error is the cause; errors of others count only from then on.
void NodeLogs::FindErrors(const core::JobView& view, Abandoned abandoned,
                          Take<web::JobErrors> take) {
  web::JobErrors errors;
  errors.failure = FailureOf(view);
  if (!errors.failure) return take(std::move(errors));
  errors.printed = errors.failure->exit && !errors.failure->exit->tail.empty();
  std::vector<NodeQuestion> questions;
  if (errors.failure->guilty) {
    questions.push_back(ErrorQuestion(*errors.failure->guilty, errors.failure->attempt, 0));
  } else {
    for (const core::TaskId& task : Choose(view, "").tasks) {
      questions.push_back(ErrorQuestion(task, 0, 0));
    }
  }
  reads_.AskAll(std::move(questions), abandoned,
                [this, view = std::make_shared<const core::JobView>(view), errors, abandoned,
                 take = std::move(take)](const std::vector<NodeAnswer>& answers) mutable {
                  const absl::Status crowd = CrowdOf(answers);
                  if (!crowd.ok()) return take(crowd);
                  errors.own = BestOf(answers);
                  if (!errors.failure->guilty) return take(std::move(errors));
                  const auto& lines = answers.front().lines;
                  if (lines.ok() && lines->printed()) errors.printed = true;
                  const int64_t dated = lines.ok() ? lines->error().dated_millis() : 0;
                  FindAfter(*view, dated, std::move(errors), std::move(abandoned), std::move(take));
                });
}

void NodeLogs::FindAfter(const core::JobView& view, int64_t own_millis, web::JobErrors errors,
                         Abandoned abandoned, Take<web::JobErrors> take) {
  const web::JobErrors::Failure& failure = *errors.failure;
  int64_t since = failure.exit ? failure.exit->ended_millis - core::kArrivalToleranceMillis : 0;
  if (own_millis > 0) since = own_millis;
  std::vector<NodeQuestion> questions;
  for (const core::TaskId& task : Choose(view, "").tasks) {
    if (task != *failure.guilty) questions.push_back(ErrorQuestion(task, 0, since));
  }
  reads_.AskAll(std::move(questions), std::move(abandoned),
                [errors = std::move(errors),
                 take = std::move(take)](std::vector<NodeAnswer> answers) mutable {
                  errors.after = BestOf(answers);
                  take(std::move(errors));
                });
}

void NodeLogs::OpenRaw(const web::LogName& name, Abandoned abandoned, Take<web::RawLog> take) {
  if (name.stream != "am") {
    return NodeDownload::Open(reads_, QuestionOf(name), downloads_, std::move(take));
  }
  worker_.Run<web::RawLog>(
      std::move(abandoned), [this](const Worker::Stop&) { return pagedata::OpenRawLog(own_log_); },
      std::move(take));
}

}  // namespace tony::appmaster
