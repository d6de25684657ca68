// Runs every file of tests/core/job/scenarios and compares it with what the state machine does now.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/core/job/job_scenario.h"
#include "tests/support/tree/source_tree.h"

namespace tony::core {
namespace {

std::vector<std::string> ScenarioFiles() {
  std::vector<std::string> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(InSourceTree("tests/core/job/scenarios"))) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  return std::filesystem::path(info.param).stem().string();
}

class JobMachineScenarioTest : public testing::TestWithParam<std::string> {};

TEST_P(JobMachineScenarioTest, DoesAsTheFileSays) {
  std::ifstream file(GetParam(), std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  const absl::StatusOr<std::string> actual = JobScenario().Run(expected, GetParam());
  ASSERT_TRUE(actual.ok()) << actual.status();
  EXPECT_EQ(actual->find("VIOLATION"), std::string::npos) << *actual;
  if (std::getenv("TONY_REWRITE_GOLDEN") != nullptr) {
    std::ofstream(GetParam(), std::ios::binary) << *actual;
    return;
  }
  EXPECT_EQ(expected, *actual) << GetParam() << "; TONY_REWRITE_GOLDEN=1 rewrites it";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, JobMachineScenarioTest, testing::ValuesIn(ScenarioFiles()),
                         TestName);

TEST(JobMachineScenarioFilesTest, ThereAreMany) { EXPECT_GE(ScenarioFiles().size(), 20u); }

}  // namespace
}  // namespace tony::core
