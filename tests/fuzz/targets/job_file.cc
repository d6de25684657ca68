// A job file, of whoever wrote it; people submit files of others, and clusters have site files.
//
// Besides not crashing: each problem has a sentence; what is wrong is said within bounds; a job
// without problems is the same job when it is read from the file that is written for its
// ApplicationMaster.
#include <cstddef>
#include <string>
#include <vector>

#include "spec/configuration_loader.h"
#include "spec/job_builder.h"
#include "spec/problem.h"
#include "spec/xml_writer.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

spec::LoadedJob Load(const std::string& text) {
  const MemoryFile file(text);
  return spec::LoadJob({.job_file = file.path(), .working_folder = "/w", .home_folder = "/h"},
                       spec::FileChecks::kOff);
}

void CheckProblems(const std::vector<spec::Problem>& problems) {
  for (const spec::Problem& problem : problems) {
    Require(!problem.message.empty(), "a problem has a sentence");
    Require(problem.line >= 0, "lines count from 1");
  }
  (void)spec::RenderProblems(problems);
}

}  // namespace

void FuzzJobFile(std::string_view input) {
  const spec::LoadedJob job = Load(std::string(input));
  CheckProblems(job.result.problems);
  CheckProblems(job.result.notes);
  if (!job.result.ok()) return;
  const spec::LoadedJob again = Load(spec::WriteXml(job.configuration));
  Require(again.result.ok(), "the ApplicationMaster finds no problem where the client found none");
  Require(again.result.job == job.result.job, "both have the same job");
  Require(again.result.local == job.result.local, "both have the same settings of the machine");
  Require(again.result.packaging == job.result.packaging, "both have the same packages");
}

}  // namespace tony::fuzz
