// Tests the token file that the user's program gets.
#include "executor/output/own_secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/os/temporary_folder.h"

namespace tony::executor {
namespace {

using ::testing::HasSubstr;

hadoop::Token TokenOf(const std::string& kind, const std::string& service) {
  return {.identifier = "id", .password = "word", .kind = kind, .service = service};
}

hadoop::TokenStore Given() {
  hadoop::TokenStore store;
  store.Add(TokenOf(hadoop::kHdfsDelegationToken, "127.0.0.1:9820"));
  store.Add(TokenOf(hadoop::kAmRmToken, "127.0.0.1:8030"));
  store.Add(TokenOf(hadoop::kNodeManagerToken, "127.0.0.1:8141"));
  store.Add(TokenOf("kms-dt", "kms"));
  store.secrets = {{"tony.credentials", "private key"},
                   {"users.password", "theirs"},
                   {"elsewhere", "private key"}};
  return store;
}

hadoop::TokenStore Expected() {
  hadoop::TokenStore store;
  store.Add(TokenOf(hadoop::kHdfsDelegationToken, "127.0.0.1:9820"));
  store.Add(TokenOf("kms-dt", "kms"));
  store.secrets = {{"users.password", "theirs"}};
  return store;
}

TEST(OwnSecretsTest, LeaveTheJobsRights) {
  EXPECT_EQ(ForProgram(Given(), "elsewhere"), Expected());
  EXPECT_EQ(ForProgram({}, "elsewhere"), hadoop::TokenStore());
}

TEST(OwnSecretsTest, AreNowhereInTheFile) {
  const os::TemporaryFolder folder;
  const std::string path = folder / "container_tokens";
  for (const auto format : {hadoop::TokenFormat::kWritable, hadoop::TokenFormat::kProtobuf}) {
    ASSERT_TRUE(hadoop::WriteTokenFile(path, Given(), format).ok());
    ASSERT_TRUE(RemoveOwnSecrets(path, "elsewhere").ok());
    EXPECT_EQ(hadoop::ReadTokenFile(path).value(), Expected());
    EXPECT_EQ(os::Contents(path).find("private key"), std::string::npos);
    struct stat info = {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(OwnSecretsTest, AreNotLeftWithoutAWord) {
  const os::TemporaryFolder folder;
  os::Put(folder / "rubbish", "no tokens");
  for (const std::string name : {"rubbish", "none"}) {
    const absl::Status status = RemoveOwnSecrets(folder / name, "elsewhere");
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()), HasSubstr("tony's secrets cannot be taken out"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(folder / name));
  }
  EXPECT_EQ(os::Contents(folder / "rubbish"), "no tokens");
}

}  // namespace
}  // namespace tony::executor
