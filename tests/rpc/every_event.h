// One event of every kind, filled or bare, for tests of conversion.
#pragma once

#include <string>
#include <vector>

#include "core/record/job_event.h"

namespace tony::rpc {

/// The end of a run with every field set; `text` in all that a person or a program wrote.
inline core::TaskExit FullExit(const std::string& text) {
  core::TaskExit exit;
  exit.cause = core::TaskExit::Cause::kSignaled;
  exit.code = 137;
  exit.signal = 9;
  exit.message = text;
  exit.tail = {text, "", "last " + text};
  exit.ended_millis = 1'700'000'000'123;
  return exit;
}

inline core::TaskUsage FullUsage() {
  core::TaskUsage usage;
  usage.cpu_seconds = 0.1;                    // has no exact binary form
  usage.memory_bytes = int64_t{1} << 53 | 1;  // has no exact form as a double
  usage.max_memory_bytes = 1'000'000'000'000'000'007;
  usage.read_bytes = 3;
  usage.write_bytes = 4;
  usage.processes = 5;
  usage.gpu_utilization = 97.25;
  usage.gpu_memory_bytes = 6;
  usage.collective = core::CollectiveUsage{.tensors = 7,
                                           .bytes = int64_t{1} << 53 | 3,
                                           .operations = 8,
                                           .by_number = 11,
                                           .by_request = 12,
                                           .negotiation_seconds = 0.3,
                                           .operation_seconds = 9.5,
                                           .waited_for_seconds = 10.25};
  return usage;
}

/// Every kind once, in the order of core::JobEventBody, no field at its default.
inline std::vector<core::JobEventBody> FullBodies(const std::string& text) {
  const core::TaskId task{"worker", 3};
  core::JobSubmitted submitted{text, text, text, text, text, {{text, 2}, {"ps", 1}}, text, text};
  core::TaskChanged changed;
  changed.task = task;
  changed.state = core::TaskState::kFailed;
  changed.epoch = 2;
  changed.attempt = 3;
  changed.container = text;
  changed.host = text;
  changed.port = 65535;
  changed.pid = 4'194'304;
  changed.exit = FullExit(text);
  changed.sentence = text;
  core::Verdict verdict;
  verdict.outcome = core::Outcome::kKilled;
  verdict.reason = core::Reason::kClientGone;
  verdict.sentence = text;
  verdict.guilty = task;
  verdict.exit = FullExit(text);
  return {submitted,
          core::JobStateChanged{core::JobState::kRestarting, 7, text},
          core::JobWaiting{text, {text, "ps:0"}, text},
          changed,
          core::EpochOpened{4, text, task, 2, 3, true, text},
          core::VisualizationReady{task, text},
          core::TaskMeasured{task, FullUsage(), 3},
          core::MasterRestarted{3, text},
          core::JobNote{text},
          core::JobEnded{verdict}};
}

/// Every kind once, all fields at their defaults.
inline std::vector<core::JobEventBody> BareBodies() {
  return {core::JobSubmitted{}, core::JobStateChanged{}, core::JobWaiting{},
          core::TaskChanged{},  core::EpochOpened{},     core::VisualizationReady{},
          core::TaskMeasured{}, core::MasterRestarted{}, core::JobNote{},
          core::JobEnded{}};
}

}  // namespace tony::rpc
