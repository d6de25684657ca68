// The decisions of a job's earlier ApplicationMasters: their own; on a cluster's file system of
// everybody who may write there. The input's first byte chooses the job, the rest are the files,
// each ended by a byte of 0.
//
// Besides not crashing: a file that is none is DataLoss; the next incarnation follows the last one;
// what is written is read as it was; and the job's state machine goes on from any decisions.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "appmaster/record/journal.h"
#include "common/fake_clock.h"
#include "core/job/job_machine.h"
#include "rpc/convert/convert.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/memory_job_files.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

using appmaster::Journal;

constexpr int kTicks = 20;

core::JobDescription Job(uint8_t kind) {
  core::JobDescription job;
  job.types = {{.name = "worker", .instances = 3, .command = "true"}};
  if (kind % 3 == 0) {
    job.types.push_back({.name = "ps", .instances = 1, .command = "true"});
    job.types.back().tracking = core::Tracking::kUntracked;
    return job;
  }
  job.framework = core::Framework::kHorovod;
  job.types.push_back({.name = core::kDriverType, .instances = 1});
  job.types.back().tracking = core::Tracking::kUntracked;
  if (kind % 3 == 2) job.horovod.elastic = core::ElasticSettings{};
  return job;
}

absl::StatusOr<Journal> Open(const std::shared_ptr<FilesByName>& files, const Clock& clock) {
  return Journal::Open(std::make_unique<MemoryJobFiles>(files), clock, "boot");
}

/// The bytes that the decisions are sent and kept as.
std::string TextOf(const std::vector<Journal::Past>& past) {
  std::string text;
  for (const Journal::Past& one : past) {
    for (const core::Decision& decision : one.decisions) {
      text += rpc::ToProto(decision).SerializeAsString();
    }
  }
  return text;
}

void CheckRewritten(const std::vector<Journal::Past>& past, const Clock& clock) {
  const auto files = std::make_shared<FilesByName>();
  auto journal = Open(files, clock);
  Require(journal.ok(), "an empty journal can be opened");
  for (const Journal::Past& one : past) {
    Require(journal->Write(one.decisions).ok(), "decisions can be written");
  }
  auto next = Open(files, clock);
  Require(next.ok() && next->incarnation() == 2, "another ApplicationMaster finds the journal");
  Require(TextOf(next->TakePast()) == TextOf(past), "it finds the same decisions");
}

void GoOn(core::JobDescription job, const std::vector<Journal::Past>& past, const Clock& clock) {
  core::JobMachine machine(std::move(job));
  for (const Journal::Past& one : past) {
    for (const core::Decision& decision : one.decisions) machine.Replay(decision, one.at);
  }
  TimePoint now = clock.Now();
  (void)machine.Apply(core::input::Start{.incarnation = 2}, now);
  for (int i = 0; i < kTicks; ++i) {
    const auto deadline = machine.NextDeadline();
    if (!deadline) break;
    now = std::max(now, *deadline);
    (void)machine.Apply(core::input::Tick{}, now);
  }
  (void)machine.Apply(core::input::StopRequested{.sentence = "enough"}, now);
}

}  // namespace

void FuzzJournal(std::string_view input) {
  InputReader reader(input);
  const uint8_t kind = reader.Byte();
  const auto files = std::make_shared<FilesByName>();
  for (int number = 1; !reader.AtEnd(); ++number) {
    char name[32];
    std::snprintf(name, sizeof(name), "journal/%08d.json", number);
    files->emplace(name, reader.Until('\0'));
  }
  const FakeClock clock;
  auto journal = Open(files, clock);
  if (!journal.ok()) {
    Require(absl::IsDataLoss(journal.status()), "a file that is none is DataLoss");
    return;
  }
  const std::vector<Journal::Past> past = journal->TakePast();
  for (const Journal::Past& one : past) Require(one.at <= clock.Now(), "the past is past");
  CheckRewritten(past, clock);
  GoOn(Job(kind), past, clock);
}

}  // namespace tony::fuzz
