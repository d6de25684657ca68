// Answers are parsed as they come, so that the texts of a thousand executors never are in memory
// together; equal stacks then take no more room (core/stacks/stack_report.h).
#include "appmaster/stack_collector.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "core/tasks/job_state.h"

namespace tony::appmaster {
namespace {

/// The texts of all executors together, which may all arrive at once, and the share of each.
constexpr size_t kTextBytes = 16 << 20;
constexpr size_t kMostTextBytes = 256 * 1024;
constexpr size_t kLeastTextBytes = 4 * 1024;

}  // namespace

bool StackCollector::Ask(const core::Task& task, int64_t request, size_t limit_bytes,
                         Collection& collection) {
  core::TaskStacks stacks{
      task.id, task.container ? task.container->host : "", task.attempt, "", {}};
  if (task.state != core::TaskState::kRunning || !task.container) {
    stacks.trouble =
        absl::StrCat("it is ", core::TaskStateName(task.state), ", so no program runs there");
  } else if (!task.attached()) {
    stacks.trouble = "its executor has no connection at the moment";
  } else {
    v1::MasterMessage message;
    message.mutable_take_stacks()->set_request(request);
    message.mutable_take_stacks()->set_limit_bytes(static_cast<int32_t>(limit_bytes));
    const absl::Status sent = executors_.Send(task.container->id, message);
    if (sent.ok()) {
      collection.awaited.emplace(task.container->id, std::move(stacks));
      return true;
    }
    stacks.trouble = "its executor has lost its connection";
  }
  collection.builder.Add(std::move(stacks), {});
  return false;
}

void StackCollector::Collect(const std::vector<core::TaskId>& tasks, Answer answer) {
  if (collections_.size() >= kMostCollections) {
    return answer(absl::ResourceExhaustedError(absl::StrCat(
        collections_.size(), " requests for stacks are going on; try again in some seconds")));
  }
  std::vector<const core::Task*> asked;
  for (const core::TaskId& id : tasks) {
    const core::Task* const task = machine_.tasks().Find(id);
    if (task == nullptr) {
      return answer(absl::NotFoundError(absl::StrCat("the job has no task ", id.ToString())));
    }
    if (std::find(asked.begin(), asked.end(), task) == asked.end()) asked.push_back(task);
  }
  if (tasks.empty()) {
    for (const core::Task& task : machine_.tasks().all()) {
      if (!task.over()) asked.push_back(&task);
    }
  }
  const int64_t request = ++last_request_;
  const auto added = collections_.emplace(
      request, Collection{tasks.empty(),
                          core::StackReportBuilder(clock_.UnixMillis(), kReportBytes),
                          {},
                          std::move(answer),
                          nullptr});
  const size_t limit =
      std::clamp(kTextBytes / std::max<size_t>(1, asked.size()), kLeastTextBytes, kMostTextBytes);
  Collection& collection = added.first->second;
  for (const core::Task* const task : asked) Ask(*task, request, limit, collection);
  LogDebug("stacks are collected", {{"request", request}, {"asked", collection.awaited.size()}});
  if (collection.awaited.empty()) return Finish(request);
  collection.deadline = loop_.After(kPatience, [this, request] { OnDeadline(request); });
}

void StackCollector::Take(const std::string& container, int64_t request, int attempt,
                          const std::string& trouble, const std::vector<core::ProcessDump>& dumps) {
  const auto found = collections_.find(request);
  if (found == collections_.end() || !found->second.awaited.contains(container)) {
    return LogDebug("an answer with stacks comes late",
                    {{"container", container}, {"request", request}});
  }
  Collection& collection = found->second;
  core::TaskStacks stacks = std::move(collection.awaited.extract(container).mapped());
  stacks.attempt = attempt;
  stacks.trouble = trouble;
  collection.builder.Add(std::move(stacks), dumps);
  if (collection.awaited.empty()) Finish(request);
}

void StackCollector::OnDeadline(int64_t request) {
  Collection& collection = collections_.at(request);
  LogInfo("not all executors have sent stacks",
          {{"request", request}, {"missing", collection.awaited.size()}});
  for (auto& [container, stacks] : collection.awaited) {
    stacks.trouble = absl::StrCat("its executor has not answered within ", kPatience.count(),
                                  " s; one of an earlier version does not know the request");
    collection.builder.Add(std::move(stacks), {});
  }
  Finish(request);
}

// The collection is taken out first: its answer may ask for another one.
void StackCollector::Finish(int64_t request) {
  Collection collection = std::move(collections_.extract(request).mapped());
  const core::StackReport report = std::move(collection.builder).Take();
  if (collection.of_all_tasks) last_ = report;
  collection.answer(report);
}

}  // namespace tony::appmaster
