// What keeps a portal from starting.
#include "portal/portal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "common/fake_clock.h"
#include "os/files/files.h"
#include "storage/job_folder.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

// A stranger could put a job there that stops the portal.
TEST(PortalStart, RefusesAFolderOfJobsThatOthersWriteTo) {
  os::TemporaryFolder local, index;
  const std::string jobs = storage::JobsFolder(local.path());
  std::filesystem::create_directory(jobs);
  EventLoop loop;
  FakeClock clock;
  Options options;
  options.locations = {local.path()};
  options.index_folder = index.path();
  std::filesystem::permissions(jobs, std::filesystem::perms(0777));
  const absl::Status refused = Portal::Start(loop, clock, options).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr(jobs));
  std::filesystem::permissions(jobs, std::filesystem::perms(0700));
  EXPECT_TRUE(Portal::Start(loop, clock, options).ok());
  std::filesystem::remove(jobs);
  EXPECT_TRUE(Portal::Start(loop, clock, options).ok()) << "there is no job yet";
}

TEST(PortalStart, RefusesATokenThatOthersCanRead) {
  os::TemporaryFolder local, index;
  EventLoop loop;
  FakeClock clock;
  Options options;
  options.locations = {local.path()};
  options.index_folder = index.path();
  options.metrics_token_file = local.path() + "/token";
  const auto write = [&options](const std::string& token) {
    EXPECT_TRUE(os::WriteFileAtomically(options.metrics_token_file, token).ok());
    std::filesystem::permissions(options.metrics_token_file, std::filesystem::perms(0600));
  };
  write(std::string(64, 'a'));
  std::filesystem::permissions(options.metrics_token_file, std::filesystem::perms(0604));
  const absl::Status refused = Portal::Start(loop, clock, options).status();
  EXPECT_TRUE(absl::IsPermissionDenied(refused)) << refused;
  EXPECT_THAT(std::string(refused.message()), HasSubstr("chmod 600"));
  std::filesystem::permissions(options.metrics_token_file, std::filesystem::perms(0600));
  EXPECT_TRUE(Portal::Start(loop, clock, options).ok());
  write("short");
  EXPECT_TRUE(absl::IsInvalidArgument(Portal::Start(loop, clock, options).status()));
}

}  // namespace
}  // namespace tony::portal
