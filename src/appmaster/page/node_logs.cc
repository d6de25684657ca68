// One message to the executor for each request, and its answer or a deadline.
#include "appmaster/page/node_logs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "logs/log_block.h"
#include "rpc/convert/log_lines.h"

namespace tony::appmaster {
namespace {

v1::ReadLog::Stream StreamOf(const web::LogName& name) {
  if (name.stream == "stdout") return v1::ReadLog::STDOUT;
  if (name.stream == "stderr") return v1::ReadLog::STDERR;
  return v1::ReadLog::EXECUTOR;
}

/// The failure that ended the job, or the newest one of a job that goes on.
std::optional<web::JobErrors::Failure> FailureOf(const core::JobView& view) {
  web::JobErrors::Failure failure;
  if (view.verdict) {
    if (view.verdict->outcome != core::Outcome::kFailed) return std::nullopt;
    failure.sentence = view.verdict->sentence;
    failure.guilty = view.verdict->guilty;
    const core::JobView::Task* const task =
        failure.guilty ? view.FindTask(*failure.guilty) : nullptr;
    if (task != nullptr) failure.attempt = task->last.attempt;
    if (task != nullptr) failure.exit = task->last.exit;
    return failure;
  }
  if (view.attempts.empty()) return std::nullopt;
  const core::JobView::Attempt& newest = view.attempts.back();
  return web::JobErrors::Failure{newest.cause, newest.guilty, newest.number, std::nullopt};
}

}  // namespace

void NodeLogs::ReadBlock(const web::LogName& name, int64_t offset, size_t limit,
                         Abandoned abandoned, Take<logs::LogBlock> take) {
  if (name.stream == "am") {
    return lookup_.ReadBlock(own_log_, offset, limit, std::move(abandoned), std::move(take));
  }
  v1::ReadLog wish;
  wish.set_offset(offset);
  wish.set_limit_bytes(static_cast<int64_t>(limit));
  Ask(name, std::move(wish), std::move(take));
}

void NodeLogs::Search(const web::LogName& name, const logs::LogSearch& search, Abandoned abandoned,
                      Take<logs::LogBlock> take) {
  if (name.stream == "am") {
    return lookup_.Search(own_log_, search, std::move(abandoned), std::move(take));
  }
  v1::ReadLog wish;
  wish.set_offset(search.offset);
  wish.set_limit_bytes(static_cast<int64_t>(search.limit));
  wish.mutable_search()->set_pattern(search.pattern);
  wish.mutable_search()->set_context(static_cast<int32_t>(search.context));
  wish.mutable_search()->set_hits(static_cast<int32_t>(search.hits));
  Ask(name, std::move(wish), std::move(take));
}

void NodeLogs::Ask(const web::LogName& name, v1::ReadLog wish, Take<logs::LogBlock> take) {
  const core::Task* const task = machine_.tasks().Find(name.task);
  if (task == nullptr || !task->container) {
    return take(
        absl::UnavailableError(absl::StrCat(name.task.ToString(), " has no container (any more)")));
  }
  if (!task->attached()) {
    return take(absl::UnavailableError(
        absl::StrCat("the executor of ", name.task.ToString(), " has no connection")));
  }
  if (waiting_.size() >= kMostWaiting) {
    return take(absl::ResourceExhaustedError(
        "too many requests wait for executors; ask again in a second"));
  }
  const int64_t request = ++last_request_;
  wish.set_request(request);
  wish.set_stream(StreamOf(name));
  wish.set_attempt(name.attempt);
  v1::MasterMessage message;
  *message.mutable_read_log() = std::move(wish);
  const absl::Status sent = executors_.Send(task->container->id, message);
  if (!sent.ok()) {
    return take(absl::UnavailableError(
        absl::StrCat("the executor of ", name.task.ToString(), " has lost its connection")));
  }
  waiting_[request] = {task->container->id, std::move(take),
                       loop_.After(kPatience, [this, request] { OnDeadline(request); })};
}

void NodeLogs::TakeLines(const std::string& container, v1::LogLines lines) {
  const auto found = waiting_.find(lines.request());
  if (found == waiting_.end() || found->second.container != container) {
    return LogDebug("lines of a log come late",
                    {{"container", container}, {"request", lines.request()}});
  }
  const Waiting waiting = std::move(waiting_.extract(found).mapped());
  waiting.take(rpc::FromProto(std::move(lines)));
}

void NodeLogs::OnDeadline(int64_t request) {
  const Waiting waiting = std::move(waiting_.extract(request).mapped());
  waiting.take(absl::UnavailableError(
      absl::StrCat("the executor has not answered within ", kPatience.count(),
                   " s; one of an earlier version does not know the request")));
}

void NodeLogs::Merge(const core::JobView& /*view*/, const web::MergeWish& /*wish*/,
                     Abandoned /*abandoned*/, Take<web::MergedLines> take) {
  take(absl::UnimplementedError("the logs lie on several machines"));
}

// The guilty task's last lines came with its end; the rest of its log lies where it ran.
void NodeLogs::FindErrors(const core::JobView& view, Abandoned /*abandoned*/,
                          Take<web::JobErrors> take) {
  web::JobErrors errors;
  errors.failure = FailureOf(view);
  errors.printed = errors.failure && errors.failure->exit && !errors.failure->exit->tail.empty();
  take(std::move(errors));
}

void NodeLogs::OpenRaw(const web::LogName& /*name*/, Abandoned /*abandoned*/,
                       Take<web::RawLog> take) {
  take(absl::UnimplementedError("the log lies on another machine"));
}

}  // namespace tony::appmaster
