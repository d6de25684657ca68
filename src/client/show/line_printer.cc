// Changes of tasks are collected until the next Refresh(), so a thousand tasks that start together
// give one line, not a thousand. Other lines flush them first and so keep the order of events.
#include "client/show/line_printer.h"

#include <variant>

#include "absl/strings/str_cat.h"
#include "client/show/change_lines.h"
#include "client/show/job_table.h"

namespace tony::client {
namespace {

constexpr auto kWaitingShownAfter = std::chrono::seconds(1);
constexpr auto kWaitingInterval = std::chrono::seconds(5);

}  // namespace

void LinePrinter::OnEvent(const core::JobEvent& event) {
  if (event.sequence <= view_.last_sequence) return;
  const bool waited = view_.waiting.has_value();
  const bool repeated = IsRepeated(event);
  view_.Apply(event);
  if (view_.waiting && !waited) waiting_since_ = clock_.Now();
  if (!view_.waiting) printed_waiting_.reset();
  if (const auto* change = std::get_if<core::TaskChanged>(&event.body)) {
    if (repeated) return;
    changed_[change->task] = *change;
    failures_ += DescribeFailure(*change);
    return;
  }
  const std::string text = DescribeJobChange(event);
  if (!text.empty()) {
    FlushTasks();
    write_(text);
  }
  if (std::holds_alternative<core::JobEnded>(event.body)) {
    FlushTasks();
    write_(RenderVerdict(view_, screen_()));
  }
}

bool LinePrinter::IsRepeated(const core::JobEvent& event) const {
  const auto* change = std::get_if<core::TaskChanged>(&event.body);
  const core::JobView::Task* task = change == nullptr ? nullptr : view_.FindTask(change->task);
  return task != nullptr && task->last == *change;
}

void LinePrinter::Refresh() {
  FlushTasks();
  PrintWaiting();
}

void LinePrinter::FlushTasks() {
  if (changed_.empty()) return;
  std::vector<core::TaskChanged> changes;
  // The view's order keeps types in the order of the job file.
  for (const core::JobView::Task& task : view_.tasks) {
    auto found = changed_.find(task.last.task);
    if (found != changed_.end()) changes.push_back(found->second);
  }
  write_(absl::StrCat(GroupTasks(changes), failures_));
  changed_.clear();
  failures_.clear();
}

void LinePrinter::PrintWaiting() {
  if (!view_.waiting || view_.waiting == printed_waiting_) return;
  const TimePoint now = clock_.Now();
  const bool first = !printed_waiting_.has_value();
  if (first ? now - waiting_since_ < kWaitingShownAfter
            : now - waiting_printed_at_ < kWaitingInterval)
    return;
  printed_waiting_ = view_.waiting;
  waiting_printed_at_ = now;
  write_(absl::StrCat(RenderWaiting(view_, clock_.UnixMillis()), "\n"));
}

}  // namespace tony::client
