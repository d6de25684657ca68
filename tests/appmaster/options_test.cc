// The ApplicationMaster's command line, and what it takes from its process.
#include "appmaster/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

namespace tony::appmaster {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

absl::StatusOr<Options> Parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tony-am");
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  return ParseOptions(static_cast<int>(pointers.size()), pointers.data());
}

TEST(MasterOptionsTest, TakesItsFlagsInAnyOrder) {
  const auto options = Parse({"--detached", "--client-fd=3", "--job-folder=/home/a b/jobs/job-1"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->job_folder, "/home/a b/jobs/job-1");
  EXPECT_EQ(options->job_id(), "job-1");
  EXPECT_EQ(options->client_fd, 3);
  EXPECT_TRUE(options->detached);
}

TEST(MasterOptionsTest, BelongsToAClientWhoDoesNotWaitUnlessToldOtherwise) {
  const auto options = Parse({"--job-folder=/jobs/job-1"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->client_fd, -1);
  EXPECT_FALSE(options->detached);
}

TEST(MasterOptionsTest, KnowsItsNeighbourAndItsEnvironment) {
  ::setenv("TONY_OPTIONS_TEST", "a=b", 1);
  const auto options = Parse({"--job-folder=/jobs/job-1"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->executor_path, std::string(TONY_BIN_DIR) + "/tony-executor");
  EXPECT_THAT(options->environment, Contains("TONY_OPTIONS_TEST=a=b"));
}

TEST(MasterOptionsTest, KnowsItsUserByTheEnvironmentFirst) {
  const char* const before = ::getenv("USER");
  const std::string user = before == nullptr ? "" : before;
  ::setenv("USER", "ann", 1);
  EXPECT_EQ(Parse({"--job-folder=/jobs/job-1"})->user, "ann");
  ::unsetenv("USER");
  const passwd* const entry = ::getpwuid(::getuid());
  EXPECT_EQ(Parse({"--job-folder=/jobs/job-1"})->user,
            entry == nullptr ? std::to_string(::getuid()) : entry->pw_name);
  if (before != nullptr) ::setenv("USER", user.c_str(), 1);
}

TEST(MasterOptionsTest, RefusesWhatItDoesNotKnow) {
  for (const std::string argument :
       {"--verbose", "--detached=yes", "job.xml", "--client-fd=three"}) {
    const auto options = Parse({"--job-folder=/jobs/job-1", argument});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << argument;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(argument));
  }
}

TEST(MasterOptionsTest, NeedsAnAbsoluteFolderWithAName) {
  for (const std::string folder : {"", "jobs/job-1", "/jobs/"}) {
    const auto options = Parse({"--job-folder=" + folder});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << folder;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr("--job-folder"));
  }
  EXPECT_EQ(Parse({}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tony::appmaster
