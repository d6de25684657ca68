// The machine's facts, and the settings that replace them.
#include "backend/local/capacity_probe.h"

#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/ledger.h"
#include "backend/local/ledger_choice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/backend/local/backend_support.h"
#include "tests/backend/local/job_ids.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

const os::Machine kMachine = {
    .host_name = "box", .boot_id = "b", .cores = 1.5, .memory_bytes = int64_t{3} << 30};

TEST(CapacityProbeTest, TakesTheMachineAsItIs) {
  const core::Capacity capacity = ProbeCapacity({.gpu_program = "/nonexistent"}, kMachine, false);
  EXPECT_EQ(capacity.host, "box");
  EXPECT_EQ(capacity.memory_mb, 3072);
  EXPECT_EQ(capacity.vcores, 1);
  EXPECT_FALSE(capacity.vcores_hard);
  EXPECT_THAT(capacity.gpus, IsEmpty());
  EXPECT_EQ(capacity.gpu_note, "");  // it did not look
}

TEST(CapacityProbeTest, SettingsReplaceWhatTheMachineHas) {
  const core::Capacity capacity = ProbeCapacity(
      {.gpus = 3, .vcores = 8, .memory_mb = 100, .gpu_program = "/nonexistent"}, kMachine, true);
  EXPECT_EQ(capacity.memory_mb, 100);
  EXPECT_EQ(capacity.vcores, 8);
  EXPECT_TRUE(capacity.vcores_hard);
  EXPECT_THAT(capacity.gpus, ElementsAre(0, 1, 2));
  EXPECT_EQ(capacity.gpu_note, "");
}

TEST(CapacityProbeTest, SaysWhyItFoundNoGpus) {
  const core::Capacity capacity = ProbeCapacity({.gpu_program = "/nonexistent"}, kMachine, true);
  EXPECT_THAT(capacity.gpus, IsEmpty());
  EXPECT_NE(capacity.gpu_note, "");
}

TEST(CapacityProbeTest, AsksTheTool) {
  const os::TemporaryFolder folder;
  const std::string tool = folder / "nvidia-smi";
  os::Put(tool,
          "#!/bin/sh\n"
          "echo '0, GPU-a, Some GPU, 1000, 0, 0'\n"
          "echo '5, GPU-b, Some GPU, 1000, 0, 0'\n");
  ASSERT_EQ(::chmod(tool.c_str(), 0755), 0);
  const core::Capacity capacity = ProbeCapacity({.gpu_program = tool}, kMachine, true);
  EXPECT_THAT(capacity.gpus, ElementsAre(0, 5));
  EXPECT_EQ(capacity.gpu_note, "");
}

TEST(CapacityProbeTest, AGpuThatSomebodyUsesIsNotGivenWithoutAWord) {
  const os::TemporaryFolder folder;
  const std::string tool = folder / "nvidia-smi";
  const std::string pid = std::to_string(::getpid());
  os::Put(tool,
          "#!/bin/sh\ncase $1 in\n--query-gpu=*)\n"
          "echo '0, GPU-a, Some GPU, 40000, 0, 12'\n"
          "echo '1, GPU-b, Some GPU, 40000, 99, 30000';;\n"
          "*) echo '" +
              pid + ", GPU-b';;\nesac\n");
  ASSERT_EQ(::chmod(tool.c_str(), 0755), 0);
  const core::Capacity capacity = ProbeCapacity({.gpu_program = tool}, kMachine, true);
  EXPECT_THAT(capacity.gpus, ElementsAre(0, 1));
  const Ledger::Options options = {.folder = folder / "ledger"};
  EXPECT_THAT(ForeignGpuNotes(capacity, options),
              ElementsAre(MatchesRegex("GPU 1 is used by process " + pid +
                                       " \\(backend_test\\) of [a-z0-9]+, which belongs to no job "
                                       "that this one sees; this job may be given the GPU "
                                       "nevertheless")));
  const auto claim = LedgerClaim::Open(Ledger::Open(options).value(), TestJobId(1)).value();
  ASSERT_TRUE(claim->Want({Workers(2, 1, 1)}).ok());
  ASSERT_TRUE(std::holds_alternative<core::Admitted>(claim->TryAdmit(capacity).value()));
  EXPECT_THAT(ForeignGpuNotes(capacity, options), IsEmpty()) << "it is a job's own process";
}

TEST(CapacityProbeTest, DeclaringNoGpusNeedsNoTool) {
  const core::Capacity capacity =
      ProbeCapacity({.gpus = 0, .gpu_program = "/nonexistent"}, kMachine, true);
  EXPECT_THAT(capacity.gpus, IsEmpty());
  EXPECT_EQ(capacity.gpu_note, "");
}

}  // namespace
}  // namespace tony::backend
