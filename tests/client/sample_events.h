// Events of made-up jobs, numbered and timed as an ApplicationMaster would.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/record/job_event.h"

namespace tony::client {

/// Builds a job's event stream. Not thread safe.
class SampleEvents {
 public:
  static constexpr int64_t kStart = 1'700'000'000'000;

  /// Appends an event `after_millis` later than the one before.
  core::JobEvent& Add(core::JobEventBody body, int64_t after_millis = 1000) {
    now_ += events_.empty() ? 0 : after_millis;
    events_.push_back(
        core::JobEvent{static_cast<int64_t>(events_.size()) + 1, now_, std::move(body)});
    return events_.back();
  }

  void Submit(std::vector<core::JobSubmitted::Type> types,
              const std::string& id = "job-20240101-0001") {
    core::JobSubmitted submitted;
    submitted.job_id = id;
    submitted.name = "digits";
    submitted.user = "ann";
    submitted.framework = "tensorflow";
    submitted.backend = "local";
    submitted.types = std::move(types);
    submitted.log_folder = "/home/ann/.tony/jobs/" + id + "/logs";
    Add(submitted);
  }
  void State(core::JobState state, const std::string& sentence = "") {
    Add(core::JobStateChanged{state, epoch_, sentence});
  }
  core::TaskChanged Task(const std::string& type, int index, core::TaskState state) {
    core::TaskChanged change;
    change.task = {type, index};
    change.state = state;
    change.epoch = epoch_;
    change.attempt = state == core::TaskState::kNew ? 0 : 1;
    if (state != core::TaskState::kNew) change.host = "127.0.0.1";
    if (state != core::TaskState::kNew && state != core::TaskState::kStarting)
      change.port = 20000 + index;
    if (change.port != 0) change.containment = "cgroup";
    return change;
  }
  void AddTask(const std::string& type, int index, core::TaskState state) {
    Add(Task(type, index, state), 10);
  }
  void End(core::Outcome outcome, core::Reason reason, const std::string& sentence) {
    Add(core::JobEnded{core::Verdict{outcome, reason, sentence, std::nullopt, std::nullopt}});
  }

  std::vector<core::JobEvent> events() const { return events_; }
  int64_t now() const { return now_; }

 private:
  std::vector<core::JobEvent> events_;
  int64_t now_ = kStart;
  int epoch_ = 0;
};

/// A failed worker's exit with a tail that would like to steer the terminal.
inline core::TaskExit NastyExit() {
  core::TaskExit exit;
  exit.code = 3;
  exit.tail = {"Traceback (most recent call last):",
               "\x1b[2J\x1b]0;owned\aValueError: \xff b\tc\r"};
  return exit;
}

/// chief, ps and two workers; everything runs.
inline SampleEvents RunningJob() {
  SampleEvents job;
  job.Submit({{"chief", 1}, {"ps", 1}, {"worker", 2}});
  job.State(core::JobState::kAllocating);
  for (const auto& [type, count] :
       std::vector<std::pair<std::string, int>>{{"chief", 1}, {"ps", 1}, {"worker", 2}}) {
    for (int index = 0; index < count; ++index)
      job.AddTask(type, index, core::TaskState::kStarting);
  }
  job.State(core::JobState::kRegistering);
  for (const auto& [type, count] :
       std::vector<std::pair<std::string, int>>{{"chief", 1}, {"ps", 1}, {"worker", 2}}) {
    for (int index = 0; index < count; ++index) job.AddTask(type, index, core::TaskState::kReady);
  }
  job.State(core::JobState::kRunning);
  for (const auto& [type, count] :
       std::vector<std::pair<std::string, int>>{{"chief", 1}, {"ps", 1}, {"worker", 2}}) {
    for (int index = 0; index < count; ++index) job.AddTask(type, index, core::TaskState::kRunning);
  }
  job.Add(core::VisualizationReady{{"chief", 0}, "http://127.0.0.1:20100"}, 50);
  return job;
}

/// RunningJob() until worker:1 fails for good.
inline SampleEvents FailedJob() {
  SampleEvents job = RunningJob();
  core::TaskChanged failed = job.Task("worker", 1, core::TaskState::kFailed);
  failed.exit = NastyExit();
  job.Add(failed, 61'000);
  job.State(core::JobState::kStopping);
  job.AddTask("chief", 0, core::TaskState::kStopped);
  job.AddTask("ps", 0, core::TaskState::kStopped);
  job.AddTask("worker", 0, core::TaskState::kStopped);
  job.Add(core::JobEnded{core::Verdict{core::Outcome::kFailed, core::Reason::kTaskFailed,
                                       "worker:1 exited with code 3.", core::TaskId{"worker", 1},
                                       NastyExit()}});
  return job;
}

}  // namespace tony::client
