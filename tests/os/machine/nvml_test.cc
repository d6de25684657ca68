// Real shared libraries with NVML's ABI, of a new and of an old driver.
#include "os/machine/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kTwoGpus[] =
    "0 utilization 98\n0 total 85899345920\n0 used 1073741824\n0 used_with_reserved 2147483648\n"
    "0 milliwatts 301500\n0 temperature 61\n0 reasons 4\n0 ecc 17\n"
    "1 utilization 0\n";

class NvmlTest : public testing::Test {
 protected:
  std::unique_ptr<Nvml> Open(const std::string& file, const std::string& gpus) {
    Put(gpus_, gpus);
    ::setenv("TONY_FAKE_NVML", gpus_.c_str(), 1);
    auto library = Nvml::Open(file);
    EXPECT_TRUE(library.ok()) << library.status();
    return library.ok() ? *std::move(library) : nullptr;
  }

  TemporaryFolder folder_;
  const std::string gpus_ = folder_ / "gpus";
};

TEST_F(NvmlTest, TellsAllThatTheDriverKnows) {
  const auto library = Open(FAKE_NVML, kTwoGpus);
  ASSERT_NE(library, nullptr);
  const GpuReading first{.index = 0,
                         .utilization_percent = 98,
                         .memory_used_bytes = int64_t{1} << 30,
                         .memory_total_bytes = int64_t{80} << 30,
                         .power_watts = 301.5,
                         .temperature_celsius = 61,
                         .slowed = 4,
                         .ecc_errors = 17};
  // The other one has no sensors, and a third one is not there.
  EXPECT_THAT(
      library->Read({1, 0, 2}),
      ElementsAre(GpuReading{.index = 1, .utilization_percent = 0}, first, GpuReading{.index = 2}));
  EXPECT_THAT(library->Read({}), ElementsAre());
}

TEST_F(NvmlTest, AnOldDriverTellsLess) {
  const auto library = Open(FAKE_NVML_OLD, kTwoGpus);
  ASSERT_NE(library, nullptr);
  EXPECT_THAT(library->Read({0}), ElementsAre(GpuReading{.index = 0,
                                                         .utilization_percent = 98,
                                                         .memory_used_bytes = int64_t{2} << 30,
                                                         .memory_total_bytes = int64_t{80} << 30,
                                                         .power_watts = 301.5,
                                                         .temperature_celsius = 61,
                                                         .slowed = 4}));
}

TEST_F(NvmlTest, SaysWhyThereIsNone) {
  const auto missing = Nvml::Open("libnobody.so.1");
  EXPECT_TRUE(absl::IsFailedPrecondition(missing.status()));
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("libnobody.so.1"));
  const auto other = Nvml::Open("libc.so.6");
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status()));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("no function nvml"));
  Put(gpus_, "0 init 9\n");
  ::setenv("TONY_FAKE_NVML", gpus_.c_str(), 1);
  const auto broken = Nvml::Open(FAKE_NVML);
  EXPECT_TRUE(absl::IsFailedPrecondition(broken.status()));
  EXPECT_THAT(std::string(broken.status().message()),
              AllOf(HasSubstr(FAKE_NVML), HasSubstr("Driver Not Loaded (9)")));
}

}  // namespace
}  // namespace tony::os
