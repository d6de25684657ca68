// The machine's facts, and the settings that replace them.
#include "backend/local/capacity_probe.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/os/temporary_folder.h"

namespace tony::backend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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

TEST(CapacityProbeTest, DeclaringNoGpusNeedsNoTool) {
  const core::Capacity capacity =
      ProbeCapacity({.gpus = 0, .gpu_program = "/nonexistent"}, kMachine, true);
  EXPECT_THAT(capacity.gpus, IsEmpty());
  EXPECT_EQ(capacity.gpu_note, "");
}

}  // namespace
}  // namespace tony::backend
