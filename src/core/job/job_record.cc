// A change of a task takes its measurement and its addresses with it.
#include "core/job/job_record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/job/job_parts.h"
#include "core/job/ranks.h"
#include "core/record/job_wait.h"

namespace tony::core {

void JobRecord::Move(JobTrigger trigger, const std::string& sentence) {
  const std::optional<JobState> next = NextState(run_.state, trigger);
  if (!next) {
    return run_.Do(effect::ReportFault{absl::StrCat("the job is ", JobStateName(run_.state),
                                                    ", where there is no edge for '",
                                                    JobTriggerName(trigger), "'")});
  }
  run_.state = *next;
  run_.state_since = run_.now;
  RecordContinues(sentence);
}

void JobRecord::RecordContinues(const std::string& sentence) {
  run_.Do(effect::Record{JobStateChanged{run_.state, run_.epoch, sentence}});
  run_.stage_wait.reset();
  wait_recorded_ = false;
  stall_recorded_ = false;
  run_.progressed = true;
  // A change of state ends another wait, but the processes of the rendezvous still wait.
  if (run_.state == JobState::kRunning) parts_.ranks.RecordWait();
}

void JobRecord::ChangeTask(Task& task, TaskState state, const std::string& sentence) {
  run_.members_changed = true;
  run_.tasks.SetState(task, state);
  if (task.over() && task.fellows->over == task.fellows->size) {
    run_.groups.OnTypeEnded(task.id.type, run_.now);
  }
  task.since = run_.now;
  if (state != TaskState::kRunning) {
    task.pid = 0;
    task.shows = false;
    // History keeps one measurement per run: the last one, with the peaks.
    if (task.measured) run_.Do(effect::Record{*std::exchange(task.measured, std::nullopt)});
  }
  if (state == TaskState::kNew || state == TaskState::kStarting) {
    task.port = 0;
    task.visualization_port = 0;
  }
  TaskChanged change;
  change.task = task.id;
  change.state = state;
  change.epoch = run_.epoch;
  change.attempt = task.attempt;
  if (task.container) {
    change.container = task.container->id;
    change.host = task.container->host;
    change.containment = task.containment;
    change.log_url = task.container->log_url;
  }
  if (state == TaskState::kReady && task.attached_at) {
    const Duration since = run_.now - *std::exchange(task.attached_at, std::nullopt);
    change.registering_millis = since / std::chrono::milliseconds(1);
  }
  change.port = task.port;
  change.pid = task.pid;
  change.exit = task.exit;
  change.sentence = sentence;
  run_.Do(effect::Record{std::move(change)});
}

void JobRecord::RecordVisualization(Task& task, bool listens) {
  if (task.visualization_port == 0 || task.shows == listens) return;
  task.shows = listens;
  std::string url;
  if (listens) {
    const Endpoint page{
        .task = task.id, .host = task.container->host, .port = task.visualization_port};
    url = absl::StrCat("http://", page.Address());
  }
  run_.Do(effect::Record{VisualizationReady{task.id, std::move(url)}});
}

void JobRecord::RecordWait(JobWaiting waiting) {
  run_.Do(effect::Record{std::move(waiting)});
  wait_recorded_ = true;
}

void JobRecord::RecordStall(const std::string& sentence) {
  if (run_.state != JobState::kRunning) return;
  if (sentence.empty()) {
    if (stall_recorded_) RecordContinues("The ranks go on");
    return;
  }
  stall_recorded_ = true;
  run_.Do(effect::Record{
      JobWaiting{absl::StrCat(kStalled, sentence),
                 {},
                 "they go on by themselves, or HOROVOD_STALL_SHUTDOWN_TIME_SECONDS ends them; "
                 "`tony logs` shows each rank's stacks"}});
}

void JobRecord::EndWaitIfOver() {
  if (!wait_recorded_ || run_.judge_at) return;
  for (const Task& task : run_.tasks.all()) {
    if (task.awaited()) return;
  }
  RecordContinues("");
}

}  // namespace tony::core
