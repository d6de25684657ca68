// Which files of users are read, and how changes of them are followed.
#include "portal/login/users_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/fake_clock.h"
#include "os/files/files.h"
#include "os/files/password_hash.h"
#include "tests/os/temporary_folder.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

const std::string& Hash() {
  static const auto* const hash = new std::string(os::HashPassword("correct horse").value());
  return *hash;
}

TEST(ParseUsers, NamesAndRoles) {
  const auto users =
      ParseUsers(absl::StrCat("# staff\n\nalice:control:", Hash(), "\nb@x.org:view:", Hash()), "u");
  ASSERT_TRUE(users.ok()) << users.status();
  EXPECT_EQ(users->size(), 2U);
  EXPECT_EQ(users->at("alice").role, Role::kControl);
  EXPECT_EQ(users->at("b@x.org").role, Role::kView);
}

TEST(ParseUsers, WhatIsWrongIsNamedWithItsLine) {
  const std::string good = absl::StrCat("alice:view:", Hash(), "\n");
  const std::pair<std::string, const char*> cases[] = {
      {good + "bob", "u:2: the line is not NAME:ROLE:HASH"},
      {good + absl::StrCat("b b:view:", Hash()), "u:2: 'b b' is no user's name"},
      {good + absl::StrCat("-b:view:", Hash()), "u:2: '-b' is no user's name"},
      {good + absl::StrCat("bob:admin:", Hash()), "u:2: the role is 'view' or 'control'"},
      {"bob:view:secret", "u:1: the third part is no hash"},
      {good + good, "u:2: the user alice is there twice"},
      {"# nobody\n", "u: there is no user in it"},
      {"bob:view:$scrypt$ln=20,r=32,p=1$T1mGwxvHaNOjEwSPL0MZmg$"
       "RD1ixxhYBytC7NDlicChOE3g4ysBvArai4CtVoWgGq8",
       "u:1: the third part is no hash"},
  };
  for (const auto& [text, sentence] : cases) {
    const absl::Status refused = ParseUsers(text, "u").status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << text;
    EXPECT_THAT(std::string(refused.message()), HasSubstr(sentence));
    EXPECT_THAT(std::string(refused.message()), HasSubstr("--add-user"));
    EXPECT_THAT(std::string(refused.message()), ::testing::Not(HasSubstr("secret")));
  }
}

TEST(UsersFile, OthersMayNotReadIt) {
  os::TemporaryFolder folder;
  const std::string path = folder.path() + "/users";
  FakeClock clock;
  UsersFile file(clock, path);
  EXPECT_TRUE(absl::IsNotFound(file.Read()));
  ASSERT_TRUE(os::WriteFileAtomically(path, absl::StrCat("alice:view:", Hash()), 0640).ok());
  const absl::Status refused = file.Read();
  EXPECT_TRUE(absl::IsPermissionDenied(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("chmod 600"));
  std::filesystem::permissions(path, std::filesystem::perms(0600));
  EXPECT_TRUE(file.Read().ok());
  EXPECT_TRUE(file.Find("alice").has_value());
  EXPECT_FALSE(file.Find("bob").has_value());
}

TEST(UsersFile, AChangeCountsAfterASecond) {
  os::TemporaryFolder folder;
  const std::string path = folder.path() + "/users";
  FakeClock clock;
  UsersFile file(clock, path);
  ASSERT_TRUE(os::WriteFileAtomically(path, absl::StrCat("alice:view:", Hash())).ok());
  ASSERT_TRUE(file.Read().ok());
  EXPECT_TRUE(file.Find("alice").has_value());
  ASSERT_TRUE(os::WriteFileAtomically(path, absl::StrCat("bob:control:", Hash())).ok());
  clock.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(file.Find("alice").has_value());
  EXPECT_EQ(file.Find("bob")->role, Role::kControl);
  ASSERT_TRUE(os::WriteFileAtomically(path, "bob:what").ok());
  clock.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(file.Find("bob").has_value()) << "a file that cannot be read lets nobody in";
  ASSERT_TRUE(os::WriteFileAtomically(path, absl::StrCat("bob:view:", Hash())).ok());
  clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(file.Find("bob")->role, Role::kView);
}

}  // namespace
}  // namespace tony::portal
