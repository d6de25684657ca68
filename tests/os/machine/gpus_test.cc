// Answers of nvidia-smi, from a script in its place.
#include "os/machine/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace tony::os {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr int64_t kMebibyte = 1 << 20;

class GpusTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gpus_test.XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string WriteTool(const std::string& script) {
    const std::string path = folder_ + "/nvidia-smi";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0755);
    return path;
  }

  std::string folder_;
};

TEST_F(GpusTest, ReadsWhatTheToolAnswers) {
  const GpuInventory inventory =
      DetectGpus(WriteTool("echo '0, GPU-aaa, NVIDIA H200, 143771, 3, 512'\n"
                           "echo '1, GPU-bbb, NVIDIA A100-SXM4-80GB, 81920, 100, 81000'\n"));
  EXPECT_EQ(inventory.reason, "");
  ASSERT_THAT(inventory.gpus, SizeIs(2));
  EXPECT_EQ(inventory.gpus[0].index, 0);
  EXPECT_EQ(inventory.gpus[0].uuid, "GPU-aaa");
  EXPECT_EQ(inventory.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(inventory.gpus[0].memory_total_bytes, 143771 * kMebibyte);
  EXPECT_EQ(inventory.gpus[0].memory_used_bytes, 512 * kMebibyte);
  EXPECT_EQ(inventory.gpus[0].utilization_percent, 3);
  EXPECT_EQ(inventory.gpus[1].uuid, "GPU-bbb");
}

TEST_F(GpusTest, AsksForTheColumnsThatItReads) {
  const GpuInventory inventory = DetectGpus(WriteTool("echo \"$@\" > " + folder_ + "/asked\n"));
  EXPECT_THAT(inventory.gpus, IsEmpty());
  std::ifstream asked(folder_ + "/asked");
  std::string line;
  ASSERT_TRUE(std::getline(asked, line));
  EXPECT_EQ(line,
            "--query-gpu=index,uuid,name,memory.total,utilization.gpu,memory.used "
            "--format=csv,noheader,nounits");
}

TEST_F(GpusTest, NoToolMeansNoGpusAndSaysSo) {
  const GpuInventory inventory = DetectGpus(folder_ + "/not-there");
  EXPECT_THAT(inventory.gpus, IsEmpty());
  EXPECT_THAT(inventory.reason, HasSubstr("not-there"));
}

TEST_F(GpusTest, AFailingToolMeansNoGpusAndItsOwnWords) {
  const GpuInventory inventory =
      DetectGpus(WriteTool("echo 'NVIDIA-SMI has failed: no driver'\necho 'more'\nexit 9\n"));
  EXPECT_THAT(inventory.gpus, IsEmpty());
  EXPECT_THAT(inventory.reason, HasSubstr("code 9"));
  EXPECT_THAT(inventory.reason, HasSubstr("no driver"));
  EXPECT_THAT(inventory.reason, testing::Not(HasSubstr("more")));
}

TEST(ParseGpuQueryTest, NumbersThatAreNotToldAreMinusOne) {
  const GpuInventory inventory =
      ParseGpuQuery("0, GPU-1, Tegra, [N/A], [Not Supported], [Unknown Error]\r\n\n");
  EXPECT_EQ(inventory.reason, "");
  ASSERT_THAT(inventory.gpus, SizeIs(1));
  EXPECT_EQ(inventory.gpus[0].memory_total_bytes, -1);
  EXPECT_EQ(inventory.gpus[0].memory_used_bytes, -1);
  EXPECT_EQ(inventory.gpus[0].utilization_percent, -1);
}

TEST(ParseGpuQueryTest, ANameMayHoldACommaAndBracketsAndNoSpaces) {
  const GpuInventory inventory = ParseGpuQuery("3,GPU-x,Quadro, special [edition],16,0,8");
  ASSERT_THAT(inventory.gpus, SizeIs(1));
  EXPECT_EQ(inventory.gpus[0].name, "Quadro, special [edition]");
  EXPECT_EQ(inventory.gpus[0].memory_total_bytes, 16 * kMebibyte);
}

TEST(ParseGpuQueryTest, WhatIsNoGpuIsNamed) {
  for (const std::string text :
       {"No devices were found", "x, GPU-1, name, 1, 2, 3", "0, GPU-1, name, 1, 2",
        "-1, GPU-1, name, 1, 2, 3", "0, [N/A], name, 1, 2, 3"}) {
    const GpuInventory inventory = ParseGpuQuery(text);
    EXPECT_THAT(inventory.gpus, IsEmpty()) << text;
    EXPECT_THAT(inventory.reason, HasSubstr(text));
  }
}

TEST(ParseGpuQueryTest, NothingIsNoGpus) {
  const GpuInventory inventory = ParseGpuQuery("");
  EXPECT_THAT(inventory.gpus, IsEmpty());
  EXPECT_EQ(inventory.reason, "");
}

}  // namespace
}  // namespace tony::os
