// A driver's library that answers, one that hangs, and none.
#include "executor/task/gpu_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "os/files/unique_fd.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;

constexpr char kTwoGpus[] =
    "0 utilization 98\n0 total 80000\n0 used 1000\n0 milliwatts 301500\n0 temperature 61\n"
    "0 reasons 4\n0 ecc 17\n1 utilization 5\n";

core::GpuUsage Unknown(int index) {
  core::GpuUsage usage;
  usage.index = index;
  return usage;
}

/// Not thread safe.
class GpuReaderTest : public testing::Test {
 protected:
  GpuReaderTest() { ::setenv("TONY_FAKE_NVML", gpus_.c_str(), 1); }

  /// Whether a reading began and ended.
  bool Read(GpuReader& reader) {
    bool done = false;
    if (!reader.Begin([&] {
          done = true;
          driver_.Changed();
        })) {
      return false;
    }
    return driver_.Await([&] { return done; });
  }
  std::string Tool(const std::string& script) {
    const std::string path = folder_ / "nvidia-smi";
    os::Put(path, "#!/bin/bash\n" + script);
    ::chmod(path.c_str(), 0700);
    return path;
  }

  LoopDriver driver_;
  os::TemporaryFolder folder_;
  const std::string gpus_ = folder_ / "gpus";
};

TEST_F(GpuReaderTest, TheLibraryTellsOfTheTasksGpus) {
  os::Put(gpus_, kTwoGpus);
  GpuReader reader(driver_.loop(), {.gpus = {1, 0}, .library = FAKE_NVML, .tool = "/no/tool"});
  EXPECT_THAT(reader.Newest(), ElementsAre(Unknown(1), Unknown(0)));
  ASSERT_TRUE(Read(reader));
  core::GpuUsage second = Unknown(1);
  second.utilization = 5;
  EXPECT_THAT(reader.Newest(), ElementsAre(second, core::GpuUsage{.index = 0,
                                                                  .utilization = 98,
                                                                  .memory_bytes = 1000,
                                                                  .memory_total_bytes = 80000,
                                                                  .power_watts = 301.5,
                                                                  .temperature = 61,
                                                                  .slowed = 4,
                                                                  .ecc_errors = 17}));
}

TEST_F(GpuReaderTest, WithoutTheLibraryTheToolIsRun) {
  const std::string runs = folder_ / "runs";
  GpuReader reader(driver_.loop(),
                   {.gpus = {3},
                    .library = "libnobody.so.1",
                    .tool = Tool(absl::StrCat(
                        "echo run >> ", runs,
                        "\necho '2, GPU-a, A, 80, 1, 2'\necho '3, GPU-b, B, 80, 50, 7'"))});
  ASSERT_TRUE(Read(reader));
  core::GpuUsage gpu = Unknown(3);
  gpu.utilization = 50;
  gpu.memory_bytes = 7 << 20;
  gpu.memory_total_bytes = 80 << 20;
  EXPECT_THAT(reader.Newest(), ElementsAre(gpu));
  // A process for each sample would be too dear.
  EXPECT_FALSE(Read(reader));
  EXPECT_EQ(os::Contents(runs), "run\n");
  EXPECT_THAT(reader.Newest(), ElementsAre(gpu));
}

TEST_F(GpuReaderTest, AToolOfTheUsersIsTheOnlySource) {
  EXPECT_EQ(GpuLibraryBeside("/opt/fake/nvidia-smi"), "");
  EXPECT_EQ(GpuLibraryBeside("nvidia-smi"), "libnvidia-ml.so.1");
  GpuReader reader(driver_.loop(), {.gpus = {0}, .tool = Tool("exit 9")});
  ASSERT_TRUE(Read(reader));
  EXPECT_THAT(reader.Newest(), ElementsAre(Unknown(0)));
}

TEST_F(GpuReaderTest, ADriverThatHangsHoldsNobodyUp) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  os::Put(gpus_, absl::StrCat(kTwoGpus, "0 hang ", fifo, "\n"));
  bool told = false;
  {
    GpuReader reader(driver_.loop(), {.gpus = {0}, .library = FAKE_NVML});
    ASSERT_TRUE(reader.Begin([&] { told = true; }));
    // No second reading begins behind the first one.
    EXPECT_FALSE(reader.Begin([&] { told = true; }));
    EXPECT_THAT(reader.Newest(), ElementsAre(Unknown(0)));
  }
  // The reader is gone, and its thread still waits for the driver: this open finds a reader.
  os::UniqueFd writer(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
  EXPECT_TRUE(writer.valid());
  EXPECT_FALSE(told);
  // Each question of the reading asks the driver once more; now they all get their answers.
  os::Put(gpus_, kTwoGpus);
  writer.Reset();
}

}  // namespace
}  // namespace tony::executor
