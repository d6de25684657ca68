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

TEST(DriverOptionsTest, TakesTheLevelOfItsLog) {
  EXPECT_EQ(ParseOptions(kWhole).value().log_level, LogLevel::kInfo);
  std::vector<std::string> arguments = kWhole;
  arguments.push_back("--log-level=warning");
  EXPECT_EQ(ParseOptions(arguments).value().log_level, LogLevel::kWarning);
}

TEST(DriverOptionsTest, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"--worker=a:1", "unknown argument --worker=a:1"},
      {"--workers=a", "'a' is no list of hosts"},
      {"--tasks=t:0,t:1", "--tasks=t:0,t:1: not one for each process of --workers=a:2,b:1"},
      {"--replica-port=0", "--replica-port=0: not a port"},
      {"--replica-port=65536", "--replica-port=65536: not a port"},
      {"--log-level=loud", "'loud' is no log level"},
      {"--rendezvous-timeout-ms=0", "--rendezvous-timeout-ms=0: not a number of milliseconds"},
  };
  for (const auto& [argument, why] : cases) {
    std::vector<std::string> arguments = kWhole;
    arguments.push_back(argument);
    const auto options = ParseOptions(arguments);
    ASSERT_TRUE(absl::IsInvalidArgument(options.status())) << argument;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(why));
  }
}

}  // namespace
}  // namespace tony::driver
