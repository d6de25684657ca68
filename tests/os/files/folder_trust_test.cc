// Tests who could replace a folder by another one before it is used.
#include "os/files/folder_trust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "tests/os/process_support.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kOwner = 54321;
constexpr uid_t kStranger = 54322;

class FolderTrustTest : public ::testing::Test {
 protected:
  std::string Folder(const std::string& name, mode_t mode = 0700) const {
    const std::string path = folder_ / name;
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  static std::string Refusal(const absl::Status& status) {
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    return std::string(status.message());
  }
  /// Opens a folder as kOwner, who owns `mine`; what came of it. Root alone can ask.
  std::string AskOwner(const std::string& path, const std::vector<std::string>& mine) const {
    EXPECT_EQ(chmod(folder_.path().c_str(), 0755), 0);
    for (const std::string& each : mine) EXPECT_EQ(lchown(each.c_str(), kOwner, kOwner), 0);
    LinePipe answer;
    const pid_t owner = ForkChild([&] {
      if (setgid(kOwner) != 0 || setuid(kOwner) != 0) return;
      dprintf(answer.write_fd(), "%s\n", OpenOrMakeOwnFolder(path).status().ToString().c_str());
    });
    const std::string said = answer.ReadLine().value_or("nothing");
    waitpid(owner, nullptr, 0);
    return said;
  }

  TemporaryFolder folder_;
};

TEST_F(FolderTrustTest, MakesWhatIsMissingForTheOwnerAlone) {
  const ScopedUmask none(0777);
  const absl::StatusOr<FolderHandle> opened = OpenOrMakeOwnFolder(folder_ / "a/b");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_EQ(ModeOf(folder_ / "a"), 0700u);
  EXPECT_EQ(ModeOf(folder_ / "a/b"), 0700u);
  EXPECT_EQ(opened->path(), folder_ / "a/b");
  ASSERT_TRUE(opened->CreateFile("file", "text").ok());
  EXPECT_EQ(Contents(folder_ / "a/b/file"), "text");
  EXPECT_TRUE(OpenOwnFolder(folder_ / "a/b/").ok());
  EXPECT_TRUE(absl::IsNotFound(OpenOwnFolder(folder_ / "a/c").status()));
}

TEST_F(FolderTrustTest, FollowsLinksDotsAndRelativePaths) {
  Folder("real");
  std::filesystem::create_directory_symlink("real", folder_ / "relative");
  std::filesystem::create_directory_symlink(folder_ / "relative", folder_ / "absolute");
  const absl::StatusOr<FolderHandle> opened = OpenOrMakeOwnFolder(folder_ / "absolute/../real/./x");
  ASSERT_TRUE(opened.ok()) << opened.status();
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "real/x"));
  std::filesystem::create_directory_symlink("circle", folder_ / "circle");
  EXPECT_THAT(std::string(OpenOwnFolder(folder_ / "circle").status().message()),
              HasSubstr("circle"));
  std::filesystem::remove(folder_ / "circle");
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  EXPECT_TRUE(OpenOwnFolder("real/x").ok());
  std::filesystem::current_path(before);
}

TEST_F(FolderTrustTest, AFileInTheWayIsNamed) {
  Put(folder_ / "file", "");
  const absl::Status status = OpenOrMakeOwnFolder(folder_ / "file/x").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ / "file"));
}

TEST_F(FolderTrustTest, NobodyElseMayWriteOnTheWay) {
  const std::string open = Folder("open", 0777);
  EXPECT_THAT(Refusal(OpenOrMakeOwnFolder(open + "/x").status()),
              AllOf(HasSubstr(open + "'"), HasSubstr("has mode 0777"), HasSubstr("chmod go-w")));
  EXPECT_FALSE(std::filesystem::exists(open + "/x"));
  ASSERT_EQ(chmod(open.c_str(), 01777), 0);
  EXPECT_TRUE(OpenOrMakeOwnFolder(open + "/x").ok());
  // Itself, though, is nobody else's to write to.
  EXPECT_THAT(Refusal(OpenOwnFolder(open).status()), HasSubstr("mode 1777"));
  EXPECT_TRUE(CheckFolder(open).ok());
  ASSERT_EQ(chmod((open + "/x").c_str(), 0702), 0);
  EXPECT_THAT(Refusal(OpenOwnFolder(open + "/x").status()), HasSubstr("mode 0702"));
}

TEST_F(FolderTrustTest, OnlyThePrivateGroupOfTheUserMayWrite) {
  const std::string shared = Folder("shared", 0770);
  const passwd* const user = getpwuid(geteuid());
  if (user == nullptr || getegid() != user->pw_gid) GTEST_SKIP() << "the user has no entry";
  // Root's group is called root; on some machines people's is "users".
  const absl::Status own = OpenOwnFolder(shared).status();
  if (geteuid() == 0) {
    EXPECT_EQ(own, absl::OkStatus());
    ASSERT_EQ(chown(shared.c_str(), 0, kStranger), 0);
    EXPECT_THAT(Refusal(OpenOwnFolder(shared).status()), HasSubstr("mode 0770"));
  }
}

TEST_F(FolderTrustTest, AnotherUsersFolderIsRefusedWhereverItStands) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string foreign = Folder("foreign", 0755);
  ASSERT_EQ(chown(foreign.c_str(), kStranger, kStranger), 0);
  const std::string below = Folder("foreign/below");
  const std::string named = "'" + foreign + "' belongs to user 54322 and has mode 0755";
  EXPECT_THAT(AskOwner(below, {below}), HasSubstr(named));
  EXPECT_THAT(AskOwner(foreign, {}), HasSubstr(named));
  // A link is its owner's to lead elsewhere.
  const std::string home = Folder("home", 0755);
  const std::string sticky = Folder("sticky", 01777);
  std::filesystem::create_directory_symlink(home, sticky + "/link");
  ASSERT_EQ(lchown((sticky + "/link").c_str(), kStranger, kStranger), 0);
  EXPECT_THAT(AskOwner(sticky + "/link/x", {home}), HasSubstr("'" + sticky + "/link' belongs to"));
  ASSERT_EQ(lchown((sticky + "/link").c_str(), 0, 0), 0);
  EXPECT_EQ(AskOwner(sticky + "/link/x", {home}), "OK");
}

TEST_F(FolderTrustTest, RootsFolderIsFineOnTheWayButNotToKeepJobsIn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string roots = Folder("roots", 0755);
  const std::string home = Folder("roots/home");
  EXPECT_EQ(AskOwner(home + "/.tony", {home}), "OK");
  EXPECT_THAT(AskOwner(roots, {}), HasSubstr("belongs to root"));
}

TEST_F(FolderTrustTest, WhereRootHasNoNumberItsFoldersStillCount) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string sticky = Folder("sticky", 01777);
  const std::string foreign = Folder("sticky/foreign", 0755);
  ASSERT_EQ(chown(foreign.c_str(), kStranger, kStranger), 0);
  const std::string below = Folder("sticky/foreign/below");
  const std::string home = Folder("home");
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  // In such a namespace another user's folder in /tmp looks like root's, so these belong to kOwner.
  for (const std::string& mine : {folder_.path(), below, home}) {
    ASSERT_EQ(chown(mine.c_str(), kOwner, kOwner), 0);
  }
  LinePipe answer;
  const pid_t owner = ForkChild([&] {
    if (setgid(kOwner) != 0 || setuid(kOwner) != 0) return;
    // A process that has changed its user may not write to its own /proc without this.
    prctl(PR_SET_DUMPABLE, 1);
    // In the new namespace only this user is mapped, and not even that one yet.
    if (unshare(CLONE_NEWUSER) != 0) {
      dprintf(answer.write_fd(), "no namespace\n");
      return;
    }
    std::ofstream("/proc/self/uid_map") << kOwner << " " << kOwner << " 1" << std::flush;
    for (const std::string& path : {home, below}) {
      dprintf(answer.write_fd(), "%s\n", OpenOwnFolder(path).status().ToString().c_str());
    }
  });
  const std::string first = answer.ReadLine().value_or("nothing");
  if (first == "no namespace") {
    waitpid(owner, nullptr, 0);
    GTEST_SKIP() << "ordinary users may not make user namespaces here";
  }
  EXPECT_EQ(first, "OK");
  EXPECT_THAT(answer.ReadLine().value_or("nothing"), HasSubstr("'" + foreign + "' belongs to"));
  waitpid(owner, nullptr, 0);
}

}  // namespace
}  // namespace tony::os
