// The driver's command line.
#include "driver/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kWhole = {"tony-driver",         "--workers=a:2,b:1",
                                         "--tasks=t:0,t:2,t:1", "--output=/tmp/o",
                                         "--replica-port=4711", "--rendezvous-timeout-ms=600"};

/// kWhole with `argument` in place of the same option; one that is not there is appended.
std::vector<std::string> WholeWith(const std::string& argument) {
  std::vector<std::string> arguments = kWhole;
  const std::string option = argument.substr(0, argument.find('=') + 1);
  for (std::string& other : arguments) {
    if (!option.empty() && other.starts_with(option)) {
      other = argument;
      return arguments;
    }
  }
  arguments.push_back(argument);
  return arguments;
}

TEST(DriverOptionsTest, TakesWhatItsExecutorSays) {
  const auto options = ParseOptions(kWhole);
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->workers, ElementsAre(core::HostSlots{"a", 2}, core::HostSlots{"b", 1}));
  EXPECT_THAT(options->tasks, ElementsAre("t:0", "t:2", "t:1"));
  EXPECT_EQ(options->output_folder, "/tmp/o");
  EXPECT_EQ(options->replica_port, 4711);
  EXPECT_EQ(options->rendezvous, std::chrono::milliseconds(600));
}

TEST(DriverOptionsTest, EachIsNeeded) {
  for (size_t left_out = 1; left_out < kWhole.size(); ++left_out) {
    std::vector<std::string> arguments = kWhole;
    arguments.erase(arguments.begin() + static_cast<long>(left_out));
    const auto options = ParseOptions(arguments);
    ASSERT_TRUE(absl::IsInvalidArgument(options.status())) << kWhole[left_out];
    EXPECT_THAT(std::string(options.status().message()), HasSubstr("is started by tony, with"));
  }
}

TEST(DriverOptionsTest, TakesThePolicyOfAnElasticJob) {
  const std::vector<std::string> rest(kWhole.begin() + 3, kWhole.end());
  std::vector<std::string> arguments = {"tony-driver", "--elastic=1:4:2:500", "--host=a"};
  arguments.insert(arguments.end(), rest.begin(), rest.end());
  const auto options = ParseOptions(arguments);
  ASSERT_TRUE(options.ok()) << options.status();
  ASSERT_TRUE(options->elastic.has_value());
  EXPECT_EQ(options->elastic->size.least, 1);
  EXPECT_EQ(options->elastic->size.most, 4);
  EXPECT_EQ(options->elastic->resets, 2);
  EXPECT_EQ(options->elastic->patience, std::chrono::milliseconds(500));
  EXPECT_EQ(options->host, "a");
  arguments.push_back("--tasks=t:0");
  EXPECT_TRUE(absl::IsInvalidArgument(ParseOptions(arguments).status())) << "tasks are for workers";
}

TEST(DriverOptionsTest, NeedsAFixedOrAnElasticJob) {
  EXPECT_THAT(std::string(ParseOptions(WholeWith("--elastic=1:4:2:500")).status().message()),
              HasSubstr("with --workers= and --tasks=, or with --elastic="));
}

TEST(DriverOptionsTest, TakesTheLevelOfItsLog) {
  EXPECT_EQ(ParseOptions(kWhole).value().log_level, LogLevel::kInfo);
  std::vector<std::string> arguments = kWhole;
  arguments.push_back("--log-level=warning");
  EXPECT_EQ(ParseOptions(arguments).value().log_level, LogLevel::kWarning);
}

TEST(DriverOptionsTest, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"--worker=a:1", "unknown option '--worker'; did you mean '--workers'?"},
      {"--workers", "--workers needs a value"},
      {"--elastic=2:1:0:500", "--elastic=2:1:0:500: not of the form LEAST:MOST:RESETS:PATIENCE-MS"},
      {"--workers=a", "'a' is no list of hosts"},
      {"--tasks=t:0,t:1", "--tasks=t:0,t:1: not one for each process of --workers=a:2,b:1"},
      {"--replica-port=0", "--replica-port=0: not a port"},
      {"--replica-port=65536", "--replica-port=65536: not a port"},
      {"--log-level=loud", "'loud' is no log level"},
      {"--rendezvous-timeout-ms=0", "--rendezvous-timeout-ms=0: not a number of milliseconds"},
  };
  for (const auto& [argument, why] : cases) {
    const auto options = ParseOptions(WholeWith(argument));
    ASSERT_TRUE(absl::IsInvalidArgument(options.status())) << argument;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(why));
  }
}

}  // namespace
}  // namespace tony::driver
