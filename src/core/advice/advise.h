// Advice about a whole job.
#pragma once

#include <string>
#include <vector>

#include "core/advice/advice.h"
#include "core/advice/job_facts.h"

namespace tony::core {

/// The advice about a job, and why there is perhaps no more.
struct JobAdvice {
  std::vector<Advice> advice;  ///< the most worthwhile first
  std::string reservation;     ///< why some questions were not asked; empty: all were
};

JobAdvice AdviseJob(const JobFacts& facts);

/// One line for the end of a job: "2 pieces of advice, the first: …"; empty without advice.
std::string AdviceLineOf(const JobAdvice& advice);

}  // namespace tony::core
