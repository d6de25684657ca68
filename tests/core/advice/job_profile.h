// A made job: its history, and what its tasks used, second by second.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/advice/advise.h"
#include "core/advice/job_facts.h"

namespace tony::core {

/// Plain data, apart from Advise().
struct JobProfile {
  static constexpr int64_t kSubmitted = 1'790'000'000'000;

  ObservedJob observed;
  int64_t seconds = 1200;      ///< for which the programs run
  int64_t start_seconds = 10;  ///< from the submission to the start of the programs
  /// Changes the usage of `task` in second `second` of its run: rates, for one second, are in
  /// `growth`, which is added up; the rest is taken as it is.
  std::function<void(const TaskId& task, int64_t second, TaskUsage& growth)> use =
      [](const TaskId&, int64_t, TaskUsage&) {};

  void AddType(const std::string& name, int instances, int64_t memory_mb, int vcores, int gpus = 0);
  /// Runs the job and gives advice.
  JobAdvice Advise(AdviceGate gate = {}) const;
};

}  // namespace tony::core
