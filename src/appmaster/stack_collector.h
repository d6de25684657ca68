// Collects the stacks of all tasks from their executors.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/event_loop.h"
#include "core/job/job_machine.h"
#include "core/stacks/stack_report_builder.h"
#include "rpc/services/executor_service.h"
#include "web/api/job_stacks.h"

namespace tony::appmaster {

/// Asks executors and waits for their answers, at most kPatience. A report has a limit, and so has
/// the number of reports at a time, so the memory for them is bounded however many tasks there are.
/// Not thread safe: owned by the event loop.
class StackCollector : public web::JobStacks {
 public:
  /// The time within which an executor must answer.
  static constexpr std::chrono::seconds kPatience{2};
  /// Reports that are collected at the same time.
  static constexpr size_t kMostCollections = 4;
  /// Size of a report; a message to a client may have 4 MiB.
  static constexpr size_t kReportBytes = 2 << 20;

  /// All references must outlive this object.
  StackCollector(EventLoop& loop, const Clock& clock, const core::JobMachine& machine,
                 rpc::ExecutorService& executors)
      : loop_(loop), clock_(clock), machine_(machine), executors_(executors) {}

  /// Collects the stacks of these tasks; of all whose program runs, if there are none. `answer` may
  /// be called at once. Tasks that do not answer are in the report with the reason.
  /// NotFound – the job has no such task. ResourceExhausted – kMostCollections are going on.
  void Collect(const std::vector<core::TaskId>& tasks, Answer answer);

  const core::StackReport* last() const override { return last_ ? &*last_ : nullptr; }
  void TakeAll(Answer answer) override { Collect({}, std::move(answer)); }

  /// An executor's answer. One that comes late, or that nobody has asked for, is dropped.
  void Take(const std::string& container, int64_t request, int attempt, const std::string& trouble,
            const std::vector<core::ProcessDump>& dumps);

 private:
  struct Collection {
    bool of_all_tasks = false;
    core::StackReportBuilder builder;
    std::map<std::string, core::TaskStacks> awaited;  ///< by container
    Answer answer;
    std::unique_ptr<EventLoop::Handle> deadline;
  };

  /// Asks the task's executor. False: it cannot be asked, and the report says why.
  bool Ask(const core::Task& task, int64_t request, size_t limit_bytes, Collection& collection);
  void OnDeadline(int64_t request);
  void Finish(int64_t request);

  EventLoop& loop_;
  const Clock& clock_;
  const core::JobMachine& machine_;
  rpc::ExecutorService& executors_;
  int64_t last_request_ = 0;
  std::map<int64_t, Collection> collections_;  ///< by request
  std::optional<core::StackReport> last_;      ///< of all tasks
};

}  // namespace tony::appmaster
