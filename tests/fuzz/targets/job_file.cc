// A job file, of whoever wrote it; people submit files of others, and clusters have site files.
//
// Besides not crashing: each problem has a sentence; what is wrong is said within bounds; a job
// without problems is the same job when it is read from the file that is written for its
// ApplicationMaster.
#include <cstddef>
#include <string>
#include <vector>

#include "jobfile/configuration/configuration_loader.h"
#include "jobfile/configuration/xml_writer.h"
#include "jobfile/job/job_builder.h"
#include "jobfile/xml/problem.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

jobfile::LoadedJob Load(const std::string& text) {
  const MemoryFile file(text);
  return jobfile::LoadJob({.job_file = file.path(), .working_folder = "/w", .home_folder = "/h"},
                          jobfile::FileChecks::kOff);
}

void CheckProblems(const std::vector<jobfile::Problem>& problems) {
  for (const jobfile::Problem& problem : problems) {
    Require(!problem.message.empty(), "a problem has a sentence");
    Require(problem.line >= 0, "lines count from 1");
  }
  (void)jobfile::RenderProblems(problems);
}

}  // namespace

void FuzzJobFile(std::string_view input) {
  const jobfile::LoadedJob job = Load(std::string(input));
  CheckProblems(job.result.problems);
  CheckProblems(job.result.notes);
  if (!job.result.ok()) return;
  const jobfile::LoadedJob again = Load(jobfile::WriteXml(job.configuration));
  Require(again.result.ok(), "the ApplicationMaster finds no problem where the client found none");
  Require(again.result.job == job.result.job, "both have the same job");
  Require(again.result.local == job.result.local, "both have the same settings of the machine");
  Require(again.result.packaging == job.result.packaging, "both have the same packages");
}

}  // namespace tony::fuzz
