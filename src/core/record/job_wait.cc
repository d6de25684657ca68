// One function per state of the job; the tasks' states decide which of its sentences applies.
#include "core/record/job_wait.h"

#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/tasks/task_names.h"

namespace tony::core {
namespace {

using Tasks = std::vector<AwaitedTask>;

bool IsOver(const AwaitedTask& task) { return core::IsOver(task.state); }
bool IsStarting(const AwaitedTask& task) {
  return !IsOver(task) && task.state != TaskState::kRunning;
}

size_t Count(const Tasks& tasks, const std::function<bool(const AwaitedTask&)>& missing) {
  size_t count = 0;
  for (const AwaitedTask& task : tasks) count += missing(task) ? 1 : 0;
  return count;
}

/// "2 of 3 tasks are not ready"
JobWaiting Missing(const Tasks& tasks, const std::function<bool(const AwaitedTask&)>& missing,
                   const std::string& what, const std::string& unblock) {
  return {absl::StrCat(Count(tasks, missing), " of ", tasks.size(), " tasks ", what),
          TaskNames(tasks, missing), unblock};
}

JobWaiting WaitForRegistration(const Tasks& tasks,
                               const std::function<bool(const AwaitedTask&)>& unready,
                               const std::string& unblock) {
  if (Count(tasks, unready) > 0) return Missing(tasks, unready, "are not ready", unblock);
  return {"all tasks are ready; the next start is held back, since several in a row have failed",
          {},
          "it comes by itself (tony.am.retry-backoff-ms)"};
}

JobWaiting WaitForPrograms(const Tasks& tasks) {
  if (Count(tasks, IsStarting) > 0) {
    return Missing(tasks, IsStarting, "start; the others run",
                   "what ran in them ends, and their executors start the programs; the "
                   "executor.log of each task says more");
  }
  auto running = [](const AwaitedTask& task) { return !IsOver(task) && task.tracked; };
  if (Count(tasks, running) > 0) {
    return Missing(tasks, running, "run",
                   "until their programs end; `tony logs` shows what they print");
  }
  return {"the tasks' ends are judged", TaskNames(tasks, IsOver), "it comes by itself"};
}

JobWaiting WaitForEnd(const Tasks& tasks) {
  const char* const unblock =
      "they end by themselves, or are killed when tony.task.kill-grace-ms and "
      "tony.am.shutdown-timeout-ms are over";
  // A task in state NEW has no container, so there is nothing of it to end.
  const auto living = [](const AwaitedTask& task) {
    return !IsOver(task) && task.state != TaskState::kNew;
  };
  if (Count(tasks, living) > 0) {
    return Missing(tasks, living, "have not ended yet; the verdict stands", unblock);
  }
  return {"the executors end; the verdict stands", TaskNames(tasks, IsOver), unblock};
}

}  // namespace

std::vector<AwaitedTask> AwaitedTasks(const TaskTable& tasks, int gang) {
  std::vector<AwaitedTask> awaited;
  for (const Task& task : tasks.all()) {
    if (gang != 0 && task.gang != gang) continue;
    awaited.push_back({task.id, task.state, task.tracking() == Tracking::kTracked});
  }
  return awaited;
}

std::vector<AwaitedTask> AwaitedTasks(const JobView& view) {
  std::vector<AwaitedTask> awaited;
  for (const JobSubmitted::Type& type : view.job.types) {
    for (int index = 0; index < type.instances; ++index) {
      const JobView::Task* task = view.FindTask({type.name, index});
      if (task != nullptr) awaited.push_back({task->last.task, task->last.state, type.tracked});
    }
  }
  return awaited;
}

std::optional<JobWaiting> WaitIn(JobState state, const std::vector<AwaitedTask>& tasks) {
  switch (state) {
    case JobState::kNew:
      return JobWaiting{"the ApplicationMaster has not begun with the job",
                        {"the ApplicationMaster"},
                        "it is about to; `tony logs JOB am` says more"};
    case JobState::kAllocating:
      return Missing(
          tasks, [](const AwaitedTask& task) { return task.state == TaskState::kNew; },
          "have no container yet", "the containers are granted");
    case JobState::kRegistering:
      // Tasks without a container belong to later stages.
      return WaitForRegistration(
          tasks,
          [](const AwaitedTask& task) {
            return task.state != TaskState::kReady && task.state != TaskState::kNew;
          },
          "their executors unpack archives and reserve ports; the "
          "executor.log of each task says more");
    case JobState::kRestarting:
      return WaitForRegistration(
          tasks, [](const AwaitedTask& task) { return task.state != TaskState::kReady; },
          "what ran in them ends, lost containers are replaced when they are gone "
          "(tony.container.kill.timeout), and executors reserve ports; the executor.log of each "
          "task says more");
    case JobState::kRunning:
      return WaitForPrograms(tasks);
    case JobState::kStopping:
      return WaitForEnd(tasks);
    case JobState::kEnded:
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<JobWaiting> WaitOf(const JobView& view) {
  const std::vector<AwaitedTask> tasks = AwaitedTasks(view);
  // A task without a container, of a later stage or of an elastic job, counts as missing.
  const bool nothing_missing = view.state == JobState::kRunning && Count(tasks, IsStarting) == 0;
  return nothing_missing ? std::nullopt : WaitIn(view.state, tasks);
}

std::string TitleOfWait(const JobWaiting& waiting, const std::string& duration) {
  const bool stalled = absl::StartsWith(waiting.what, kStalled);
  if (duration.empty()) return stalled ? "STALLED" : "Waiting";
  return absl::StrCat(stalled ? "STALLED " : "Waiting for ", duration);
}

std::string SubjectOfWait(const JobWaiting& waiting) {
  return std::string(absl::StripPrefix(waiting.what, kStalled));
}

std::string DescribeWait(const JobWaiting& waiting) {
  const std::string subject = SubjectOfWait(waiting);
  if (waiting.missing.empty()) return subject;
  return absl::StrCat(subject, "; awaited: ", absl::StrJoin(waiting.missing, ", "));
}

}  // namespace tony::core
