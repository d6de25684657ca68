// Asks the executors of tasks to read logs, and waits for their answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_machine.h"
#include "rpc/services/executor_service.h"
#include "web/api/job_logs.h"

namespace tony::appmaster {

/// A question to the executor of a task.
struct NodeQuestion {
  core::TaskId task;
  v1::ReadLog wish;  ///< without a number
};

/// The executor's answer to a question, or the reason why there is none, with the codes of
/// NodeReads::AskAll(): Unavailable – nobody could be asked.
struct NodeAnswer {
  core::TaskId task;
  absl::StatusOr<v1::LogLines> lines;
};

/// Sends each question on the executor's stream and takes one answer to it, or gives up at a
/// deadline. The number of questions that wait is limited, and so is the size of an answer
/// (executor/output/log_answers.h). Not thread safe: owned by the event loop.
class NodeReads {
 public:
  using Take = std::function<void(absl::StatusOr<v1::LogLines>)>;
  using TakeAll = std::function<void(std::vector<NodeAnswer>)>;

  /// The time within which an executor must answer one question, and one of many.
  static constexpr std::chrono::seconds kPatience{5};
  static constexpr std::chrono::seconds kPatienceWithMany{2};
  /// Questions that wait at the same time; answers of some 2 MiB at most.
  static constexpr size_t kMostWaiting = 64;
  /// Limit on the questions of one AskAll() that wait at the same time.
  static constexpr size_t kAtOnce = 16;
  /// Calls of AskAll() at the same time.
  static constexpr size_t kMostRounds = 8;

  /// All references must outlive this object.
  NodeReads(EventLoop& loop, const Clock& clock, const core::JobMachine& machine,
            rpc::ExecutorService& executors)
      : loop_(loop), clock_(clock), machine_(machine), executors_(executors) {}

  /// Calls `take` once, perhaps from within the call, with the answer or its code. Unavailable –
  /// the task has no executor that could be asked, or it has not answered in time.
  /// ResourceExhausted – too many questions wait.
  void Ask(NodeQuestion question, Take take) { Ask(std::move(question), kPatience, take); }

  /// Asks all of them, and calls `take` once, perhaps from within the call, with the answers in the
  /// order of the questions. Cancelled – nobody waits for that one any more. With too many calls at
  /// a time each answer is ResourceExhausted.
  void AskAll(std::vector<NodeQuestion> questions, web::JobLogs::Abandoned abandoned, TakeAll take);

  /// An executor's answer, in which an error gets its date (v1::PrintedError.dated_millis). One
  /// that comes late, or that nobody has asked for, is dropped.
  void TakeLines(const std::string& container, v1::LogLines lines);

 private:
  struct Waiting {
    std::string container;
    std::string task;
    std::chrono::seconds patience;
    Take take;
    std::unique_ptr<EventLoop::Handle> deadline;
  };
  struct Round;

  void Ask(NodeQuestion question, std::chrono::seconds patience, const Take& take);
  /// Asks the round's next questions, as many as may wait, and ends the round when all are
  /// answered.
  void GoOn(const std::shared_ptr<Round>& round);
  void OnDeadline(int64_t request);

  EventLoop& loop_;
  const Clock& clock_;
  const core::JobMachine& machine_;
  rpc::ExecutorService& executors_;
  int64_t last_request_ = 0;
  size_t rounds_ = 0;
  std::map<int64_t, Waiting> waiting_;  ///< by request
};

}  // namespace tony::appmaster
