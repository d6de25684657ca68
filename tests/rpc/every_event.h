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
  exit.host_millis = 1'699'999'000'007;
  return exit;
}

inline core::TaskUsage FullUsage() {
  core::TaskUsage usage;
  usage.cpu_seconds = 0.1;                    // has no exact binary form
  usage.memory_bytes = int64_t{1} << 53 | 1;  // has no exact form as a double
  usage.max_memory_bytes = 1'000'000'000'000'000'007;
  usage.read_bytes = 3;
  usage.write_bytes = 4;
  usage.printed_bytes = 42;
  usage.processes = 5;
  usage.gpu_utilization = 97.25;
  usage.gpu_memory_bytes = 6;
  usage.seconds = 13.5;
  usage.proportional_bytes = 14;
  usage.descriptors = 15;
  usage.gpus = {{.index = 1,
                 .utilization = 98.5,
                 .memory_bytes = 6,
                 .memory_total_bytes = 16,
                 .power_watts = 301.5,
                 .temperature = 61,
                 .slowed = 4,
                 .ecc_errors = 17}};
  usage.group = {.memory_bytes = 18,
                 .max_memory_bytes = 19,
                 .periods = 20,
                 .throttled_periods = 21,
                 .throttled_seconds = 22.5,
                 .cpu_wait_seconds = 23.5,
                 .memory_wait_seconds = 24.5,
                 .io_wait_seconds = 25.5};
  usage.network = {
      .sent_bytes = 26, .received_bytes = 27, .host_sent_bytes = 28, .host_received_bytes = 29};
  usage.progress = core::Progress{.step = 30,
                                  .steps_per_second = 31.5,
                                  .step_seconds = 32.5,
                                  .long_gap_seconds = 34.5,
                                  .first_step_millis = 1'700'000'000'456,
                                  .first_step_ago_millis = 41,
                                  .idle_seconds = 33.5,
                                  .phase = "checkpoint",
                                  .phase_seconds = 35.5,
                                  .longest_phase_seconds = 36.5,
                                  .values = {{"loss", 0.25}},
                                  .checkpoint = core::ProgressCheckpoint{"/a", 37, 38.5, 39, 42},
                                  .unread_lines = 40};
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
  core::JobSubmitted submitted{
      text, text, text, text, text, {{text, 2}, {"ps", 1, false, 2048, 3, 4}}, text, text};
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
  changed.registering_millis = 1'500;
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
