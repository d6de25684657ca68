// One message to the executor for each question, and its answer or a deadline. Questions to many
// executors go out in a window, so that their answers never are in memory all at the same time as
// messages.
#include "appmaster/page/node_reads.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/tasks/arrival_dates.h"
#include "rpc/convert/log_lines.h"

namespace tony::appmaster {
namespace {

absl::Status TooMany() {
  return absl::ResourceExhaustedError(
      "too many requests wait for executors; ask again in a second");
}

}  // namespace

/// Questions to many executors, on their way.
struct NodeReads::Round {
  std::vector<NodeQuestion> questions;
  std::vector<NodeAnswer> answers;
  web::JobLogs::Abandoned abandoned;
  TakeAll take;
  size_t next = 0;     ///< of the questions
  size_t waiting = 0;  ///< for their answers
  size_t answered = 0;
  bool asking = false;  ///< an answer comes from within the question
};

void NodeReads::Ask(NodeQuestion question, std::chrono::seconds patience, const Take& take) {
  const std::string name = question.task.ToString();
  const core::Task* const task = machine_.tasks().Find(question.task);
  if (task == nullptr || !task->container) {
    return take(absl::UnavailableError(absl::StrCat(name, " has no container (any more)")));
  }
  if (!task->attached()) {
    return take(
        absl::UnavailableError(absl::StrCat("the executor of ", name, " has no connection")));
  }
  if (waiting_.size() >= kMostWaiting) {
    return take(TooMany());
  }
  const int64_t request = ++last_request_;
  question.wish.set_request(request);
  if (question.wish.has_find_error()) {
    question.wish.mutable_find_error()->set_sent_millis(clock_.UnixMillis());
  }
  v1::MasterMessage message;
  *message.mutable_read_log() = std::move(question.wish);
  if (!executors_.Send(task->container->id, message).ok()) {
    return take(
        absl::UnavailableError(absl::StrCat("the executor of ", name, " has lost its connection")));
  }
  waiting_[request] = {task->container->id, name, patience, take,
                       loop_.After(patience, [this, request] { OnDeadline(request); })};
}

void NodeReads::TakeLines(const std::string& container, v1::LogLines lines) {
  const auto found = waiting_.find(lines.request());
  if (found == waiting_.end() || found->second.container != container) {
    return LogDebug("lines of a log come late",
                    {{"container", container}, {"request", lines.request()}});
  }
  const Waiting waiting = std::move(waiting_.extract(found).mapped());
  if (lines.code() != 0) return waiting.take(rpc::StatusOf(lines));
  if (lines.has_error() && lines.error().unix_millis() > 0) {
    v1::PrintedError& error = *lines.mutable_error();
    error.set_dated_millis(error.unix_millis() -
                           core::ClockAhead(lines.host_millis(), clock_.UnixMillis()));
  }
  waiting.take(std::move(lines));
}

void NodeReads::OnDeadline(int64_t request) {
  const Waiting waiting = std::move(waiting_.extract(request).mapped());
  waiting.take(absl::UnavailableError(
      absl::StrCat(waiting.task, " did not answer within ", waiting.patience.count(), " s")));
}

void NodeReads::AskAll(std::vector<NodeQuestion> questions, web::JobLogs::Abandoned abandoned,
                       TakeAll take) {
  auto round = std::make_shared<Round>();
  const bool crowded = rounds_ >= kMostRounds;
  for (const NodeQuestion& question : questions) {
    round->answers.push_back({question.task, TooMany()});
  }
  if (crowded || questions.empty()) return take(std::move(round->answers));
  round->questions = std::move(questions);
  round->abandoned = std::move(abandoned);
  round->take = std::move(take);
  ++rounds_;
  GoOn(round);
}

// A question that cannot be sent is answered from within Ask(), so this is a loop, not a recursion.
void NodeReads::GoOn(const std::shared_ptr<Round>& round) {
  if (round->asking) return;
  round->asking = true;
  while (round->next < round->questions.size() && round->waiting < kAtOnce) {
    const size_t index = round->next++;
    ++round->waiting;
    const auto take = [this, round, index](absl::StatusOr<v1::LogLines> lines) {
      round->answers[index].lines = std::move(lines);
      --round->waiting;
      ++round->answered;
      GoOn(round);
    };
    if (round->abandoned != nullptr && round->abandoned->load()) {
      take(absl::CancelledError("nobody waits for it"));
    } else {
      Ask(std::move(round->questions[index]), kPatienceWithMany, take);
    }
  }
  round->asking = false;
  if (round->answered < round->questions.size()) return;
  --rounds_;
  round->take(std::move(round->answers));
}

}  // namespace tony::appmaster
