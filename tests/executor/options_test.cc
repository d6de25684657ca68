// The executor's command line.
#include "executor/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "hadoop/auth/token_file.h"
#include "os/files/files.h"
#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Options> Parse(std::vector<std::string> arguments,
                              const std::vector<std::string>& environment = {}) {
  arguments.insert(arguments.begin(), "tony-executor");
  return ParseOptions(arguments, environment);
}

TEST(ExecutorOptionsTest, TakesItsFlagsInAnyOrder) {
  const auto options = Parse({"--credentials=/a b/c=d.pem", "--registry-timeout-ms=1500",
                              "--master=127.0.0.1:4711", "--container-id=job-c0001"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->container_id, "job-c0001");
  EXPECT_EQ(options->master_address, "127.0.0.1:4711");
  EXPECT_EQ(options->credentials_file, "/a b/c=d.pem");
  EXPECT_EQ(options->registry_timeout, std::chrono::milliseconds(1500));
}

TEST(ExecutorOptionsTest, WaitsForEverUnlessToldOtherwise) {
  const auto options = Parse({"--container-id=c", "--master=m:1", "--credentials=f"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->registry_timeout, std::chrono::milliseconds(0));
}

TEST(ExecutorOptionsTest, VariablesOfAFileReplaceThoseOfTheProcess) {
  os::TemporaryFolder folder;
  const auto options = Parse({"--container-id=c", "--master=m:1", "--credentials=f",
                              "--environment-file=" + (folder / "variables")});
  ASSERT_TRUE(options.ok()) << options.status();
  std::vector<std::string> environment = {"A=1", "AB=2", "B=3"};
  EXPECT_TRUE(absl::IsNotFound(AddVariables(*options, environment)));
  ASSERT_TRUE(os::WriteFileAtomically(folder / "variables", std::string("A=x\ny\0C=\0", 9)).ok());
  ASSERT_TRUE(AddVariables(*options, environment).ok());
  EXPECT_THAT(environment, ElementsAre("AB=2", "B=3", "A=x\ny", "C="));
}

TEST(ExecutorOptionsTest, TakesHowTheProgramIsHeld) {
  const auto options = Parse({"--container-id=c", "--master=m:1", "--credentials=f",
                              "--containment=namespace", "--memory-mb=2048"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->containment.way, os::ContainmentWay::kNamespace);
  EXPECT_EQ(options->containment.memory_bytes, int64_t{2} << 30);
  for (const std::string wrong : {"--containment=", "--containment=jail", "--memory-mb=2g",
                                  "--memory-mb=-1", "--memory-mb=9999999999999999"}) {
    const auto refused = Parse({"--container-id=c", "--master=m:1", "--credentials=f", wrong});
    EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument) << wrong;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(wrong));
  }
}

TEST(ExecutorOptionsTest, TakesWhetherTheProgramFindsThePackage) {
  const auto without = Parse({"--container-id=c", "--master=m:1", "--credentials=f"});
  EXPECT_FALSE(without.value().collective_package);
  const auto with = Parse({"--container-id=c", "--collective-package", "--stacks",
                           "--silence-note-ms=7", "--master=m:1", "--credentials=f"});
  EXPECT_TRUE(with.value().collective_package);
  EXPECT_TRUE(with.value().stacks);
  EXPECT_FALSE(without.value().stacks);
  EXPECT_EQ(with.value().silence_note, std::chrono::milliseconds(7));
  const auto wrong =
      Parse({"--container-id=c", "--master=m:1", "--credentials=f", "--collective-package=1"});
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(ExecutorOptionsTest, TakesTheLevelOfItsLog) {
  const std::vector<std::string> needed = {"--container-id=c", "--master=m:1", "--credentials=f"};
  EXPECT_EQ(Parse(needed).value().log_level, LogLevel::kInfo);
  std::vector<std::string> arguments = needed;
  arguments.push_back("--log-level=debug");
  EXPECT_EQ(Parse(arguments).value().log_level, LogLevel::kDebug);
  arguments.back() = "--log-level=loud";
  EXPECT_THAT(std::string(Parse(arguments).status().message()),
              HasSubstr("'loud' is no log level"));
}

TEST(ExecutorOptionsTest, FindsItsCredentialsAmongSecrets) {
  const os::TemporaryFolder folder;
  const std::string certificate = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
  const rpc::Credentials credentials{
      .ca_pem = certificate,
      .certificate_pem = certificate,
      .key_pem = "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"};
  hadoop::TokenStore store;
  store.secrets = {{"other", "secret"}, {"mine", rpc::FormatCredentials(credentials)}};
  ASSERT_TRUE(
      hadoop::WriteTokenFile(folder / "tokens", store, hadoop::TokenFormat::kWritable).ok());
  auto options = Parse({"--container-id=c", "--master=m:1", "--credentials-secret=mine",
                        "--address-command=runtime/start tony-am --look-up"},
                       {"HADOOP_TOKEN_FILE_LOCATION=" + (folder / "tokens")});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_THAT(options->address_command, ElementsAre("runtime/start", "tony-am", "--look-up"));
  EXPECT_EQ(ReadCredentials(*options).value(), credentials);
  options->credentials_secret = "other";
  EXPECT_EQ(ReadCredentials(*options).status().code(), absl::StatusCode::kInvalidArgument);
  options->credentials_secret = "none";
  EXPECT_EQ(ReadCredentials(*options).status().code(), absl::StatusCode::kNotFound);
}

TEST(ExecutorOptionsTest, NeedsAllOfThem) {
  const std::vector<std::string> all = {"--container-id=c", "--master=m:1", "--credentials=f"};
  for (size_t missing = 0; missing < all.size(); ++missing) {
    std::vector<std::string> some = all;
    some.erase(some.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_EQ(Parse(some).status().code(), absl::StatusCode::kInvalidArgument) << all[missing];
    some.push_back(all[missing].substr(0, all[missing].find('=') + 1));  // "--master="
    EXPECT_EQ(Parse(some).status().code(), absl::StatusCode::kInvalidArgument) << some.back();
  }
}

TEST(ExecutorOptionsTest, NamesWhatItDoesNotKnow) {
  for (const std::string argument : {"--verbose", "--master", "-h", "job.xml"}) {
    const auto options = Parse({"--container-id=c", "--master=m:1", "--credentials=f", argument});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(options.status().message()), HasSubstr(argument));
  }
}

TEST(ExecutorOptionsTest, RefusesATimeThatIsNone) {
  for (const std::string time : {"", "-1", "5s", "1e3", "99999999999999999999"}) {
    const auto options = Parse(
        {"--container-id=c", "--master=m:1", "--credentials=f", "--registry-timeout-ms=" + time});
    EXPECT_EQ(options.status().code(), absl::StatusCode::kInvalidArgument) << time;
    EXPECT_THAT(std::string(options.status().message()), HasSubstr("registry-timeout-ms"));
  }
}

TEST(ExecutorOptionsTest, AVoucherReplacesEverythingElse) {
  const auto options = Parse({"--voucher-fd=7", "--host=node-1", "--gpus=0,3", "--tied-to-pid=12",
                              "--tied-to-start=34567890123"});
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->voucher_fd, 7);
  EXPECT_EQ(options->host, "node-1");
  EXPECT_THAT(options->gpus, ElementsAre(0, 3));
  EXPECT_EQ(options->tied_to_pid, 12);
  EXPECT_EQ(options->tied_to_start, 34567890123);
}

TEST(ExecutorOptionsTest, HalfOfALaunchersOptionsIsRefused) {
  const std::vector<std::vector<std::string>> lines = {
      {"--voucher-fd=7"},
      {"--voucher-fd=7", "--host=h", "--credentials=f"},
      {"--voucher-fd=7", "--host=h", "--tied-to-pid=12"},
      {"--voucher-fd=7", "--host=h", "--tied-to-start=12"},
      {"--voucher-fd=7", "--host=h", "--gpus=0,-1"},
      {"--voucher-fd=7", "--host=h", "--gpus=a"},
      {"--voucher-fd=-7", "--host=h"},
      {"--container-id=c", "--master=m:1", "--credentials=f", "--credentials-fd=4"},
      {"--master=m:1", "--credentials-fd=4"}};
  for (const std::vector<std::string>& line : lines) {
    EXPECT_TRUE(absl::IsInvalidArgument(Parse(line).status())) << line.back();
  }
}

}  // namespace
}  // namespace tony::executor
