// The ApplicationMaster's command line, and what it takes from its process.
#include "appmaster/options.h"
#include "tests/support/tree/source_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

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
  EXPECT_EQ(options->executor_path, BuiltProgram("tony-executor"));
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

/// Variables of this process, which are as before at the end. Not thread safe.
class ScopedVariables {
 public:
  using Values = std::map<std::string, std::string>;
  explicit ScopedVariables(const Values& values) {
    for (const auto& [name, value] : values) {
      const char* const before = ::getenv(name.c_str());
      before_[name] = before == nullptr ? std::nullopt : std::optional<std::string>(before);
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ScopedVariables(const ScopedVariables&) = delete;
  ScopedVariables& operator=(const ScopedVariables&) = delete;
  ~ScopedVariables() {
    for (const auto& [name, before] : before_) {
      if (before) {
        ::setenv(name.c_str(), before->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST(MasterOptionsTest, OnYarnItsContainerTellsTheRest) {
  const ScopedVariables variables(
      ScopedVariables::Values{{"HADOOP_TOKEN_FILE_LOCATION", "/c/tokens"}, {"NM_HOST", "node1"}});
  const auto options = Parse({"--on-yarn"});
  ASSERT_TRUE(options.ok()) << options.status();
  ASSERT_TRUE(options->yarn.has_value());
  EXPECT_EQ(options->yarn->token_file, "/c/tokens");
  EXPECT_EQ(options->yarn->node_host, "node1");
  EXPECT_EQ(options->yarn->working_folder, std::filesystem::current_path());
  EXPECT_FALSE(options->look_up);
  EXPECT_TRUE(Parse({"--on-yarn", "--look-up"})->look_up);
}

TEST(MasterOptionsTest, OnYarnNeedsAContainer) {
  for (const char* const missing : {"HADOOP_TOKEN_FILE_LOCATION", "NM_HOST"}) {
    const ScopedVariables variables(
        ScopedVariables::Values{{"HADOOP_TOKEN_FILE_LOCATION", "/c/tokens"}, {"NM_HOST", "node1"}});
    const ScopedVariables empty(ScopedVariables::Values{{missing, ""}});
    const auto options = Parse({"--on-yarn", "--look-up"});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << missing;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(missing));
  }
}

TEST(MasterOptionsTest, LooksUpOnYarnAlone) {
  EXPECT_EQ(Parse({"--look-up"}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Parse({"--look-up", "--job-folder=/jobs/job-1"}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MasterOptionsTest, RefusesWhatItDoesNotKnow) {
  const std::pair<const char*, const char*> cases[] = {
      {"--verbose", "unknown option '--verbose'"},
      {"--detach", "unknown option '--detach'; did you mean '--detached'?"},
      {"--detached=yes", "--detached takes no value; leave '=yes' out"},
      {"job.xml", "unexpected argument 'job.xml'; tony-am is started by tony-submit"},
      {"--client-fd=three", "--client-fd=three: not a descriptor"},
      {"--client-fd=-1", "--client-fd=-1: not a descriptor"},
      {"--restarts=-1", "--restarts=-1: not a number of restarts"},
      {"--open-files=many", "--open-files=many: not a number of open files"},
  };
  for (const auto& [argument, why] : cases) {
    const auto options = Parse({"--job-folder=/jobs/job-1", argument});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << argument;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(why));
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
