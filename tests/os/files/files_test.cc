// Whole-file operations on real files.
#include "os/files/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

bool IsRoot() { return geteuid() == 0; }

size_t CountEntries(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(ReadFileTest, ReadsBytesAndFilesWithoutSize) {
  TemporaryFolder folder;
  const std::string bytes(100'000, '\0');
  Put(folder / "zeros", bytes);
  EXPECT_EQ(ReadFile(folder / "zeros").value(), bytes);
  Put(folder / "empty", "");
  EXPECT_EQ(ReadFile(folder / "empty").value(), "");
  EXPECT_THAT(ReadFile("/proc/self/status").value(), HasSubstr("Pid:"));
}

TEST(ReadFileTest, NamesPathAndReason) {
  TemporaryFolder folder;
  const auto missing = ReadFile(folder / "no\nsuch");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()),
              AllOf(HasSubstr("no\\nsuch"), HasSubstr("No such file")));
  EXPECT_EQ(ReadFile(folder.path()).status().code(), absl::StatusCode::kFailedPrecondition);
  if (!IsRoot()) {
    Put(folder / "secret", "");
    chmod((folder / "secret").c_str(), 0);
    EXPECT_EQ(ReadFile(folder / "secret").status().code(), absl::StatusCode::kPermissionDenied);
  }
}

TEST(WriteFileTest, ReplacesWithExactMode) {
  TemporaryFolder folder;
  for (const mode_t mask : {0777, 0}) {
    const ScopedUmask scoped(mask);
    ASSERT_TRUE(WriteFileAtomically(folder / "f", "one").ok());
    EXPECT_EQ(ModeOf(folder / "f"), 0600u);
    ASSERT_TRUE(WriteFileAtomically(folder / "f", "two", 0644, Durability::kSynced).ok());
    EXPECT_EQ(ModeOf(folder / "f"), 0644u);
  }
  EXPECT_EQ(Contents(folder / "f"), "two");
  EXPECT_EQ(CountEntries(folder.path()), 1u);
}

TEST(WriteFileTest, ReplacesLinkNotItsTarget) {
  TemporaryFolder folder;
  Put(folder / "target", "kept");
  std::filesystem::create_symlink("target", folder / "link");
  ASSERT_TRUE(WriteFileAtomically(folder / "link", "new").ok());
  EXPECT_EQ(Contents(folder / "target"), "kept");
  EXPECT_EQ(Contents(folder / "link"), "new");
}

TEST(WriteFileTest, LongestNamePossible) {
  TemporaryFolder folder;
  EXPECT_TRUE(WriteFileAtomically(folder / std::string(255, 'n'), "x").ok());
}

TEST(WriteFileTest, FailureLeavesNothing) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "d/sub");
  const absl::Status status = WriteFileAtomically(folder / "d", "x");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder / "d"));
  EXPECT_EQ(CountEntries(folder.path()), 1u);
  EXPECT_EQ(WriteFileAtomically(folder / "none/f", "x").code(), absl::StatusCode::kNotFound);
}

TEST(CreateFileTest, OneOfManyWins) {
  TemporaryFolder folder;
  std::atomic<int> winners = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const absl::Status status = CreateFileExclusively(folder / "f", absl::StrCat("by ", i));
      EXPECT_TRUE(status.ok() || absl::IsAlreadyExists(status)) << status;
      if (status.ok()) ++winners;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(winners, 1);
  EXPECT_THAT(Contents(folder / "f"), testing::StartsWith("by "));
  EXPECT_EQ(ModeOf(folder / "f"), 0600u);
  EXPECT_EQ(CountEntries(folder.path()), 1u);
}

TEST(CreateFileTest, DanglingLinkIsInTheWay) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("nowhere", folder / "link");
  EXPECT_EQ(CreateFileExclusively(folder / "link", "x").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_FALSE(Exists(folder / "nowhere"));
}

TEST(MakeFoldersTest, ExactModeWhateverTheUmask) {
  TemporaryFolder folder;
  for (const mode_t mask : {0777, 0}) {
    const ScopedUmask scoped(mask);
    const std::string top = folder / absl::StrCat("mask-", mask);
    ASSERT_TRUE(MakeFolders(top + "/b//c/", 0750).ok());
    EXPECT_EQ(ModeOf(top), 0750u);
    EXPECT_EQ(ModeOf(top + "/b/c"), 0750u);
    ASSERT_TRUE(MakeFolders(top + "/b", 0700).ok());
    EXPECT_EQ(ModeOf(top + "/b"), 0750u) << "what exists stays as it is";
  }
}

TEST(MakeFoldersTest, FileInTheWay) {
  TemporaryFolder folder;
  Put(folder / "file", "");
  for (const char* path : {"file", "file/below", "file/below/it"}) {
    const absl::Status status = MakeFolders(folder / path);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("file"));
  }
  EXPECT_FALSE(MakeFolders("").ok());
}

TEST(RemoveTreeTest, NeverFollowsLinks) {
  TemporaryFolder folder;
  Put(folder / "outside/precious", "kept");
  std::filesystem::create_directories(folder / "tree/sub");
  std::filesystem::create_symlink("../outside", folder / "tree/link");
  std::filesystem::create_symlink(folder / "outside/precious", folder / "tree/sub/link");
  ASSERT_TRUE(RemoveTree(folder / "tree/").ok());
  EXPECT_FALSE(Exists(folder / "tree"));
  std::filesystem::create_symlink("outside", folder / "top-link");
  ASSERT_TRUE(RemoveTree(folder / "top-link").ok());
  EXPECT_FALSE(Exists(folder / "top-link"));
  EXPECT_EQ(Contents(folder / "outside/precious"), "kept");
}

TEST(RemoveTreeTest, AbsentIsFine) {
  TemporaryFolder folder;
  EXPECT_TRUE(RemoveTree(folder / "none").ok());
  EXPECT_TRUE(RemoveTree(folder / "none/below").ok());
}

TEST(RemoveTreeTest, RefusesNonsense) {
  for (const char* path : {"", "/", "//", ".", "..", "/tmp/.", "/tmp/.."}) {
    EXPECT_EQ(RemoveTree(path).code(), absl::StatusCode::kInvalidArgument) << path;
  }
}

TEST(RemoveTreeTest, OpensFoldersWithoutPermissions) {
  TemporaryFolder folder;
  Put(folder / "tree/closed/deep/f", "");
  Put(folder / "tree/read-only/f", "");
  chmod((folder / "tree/closed").c_str(), 0);
  chmod((folder / "tree/read-only").c_str(), 0500);
  const absl::Status status = RemoveTree(folder / "tree");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(Exists(folder / "tree"));
}

TEST(RemoveTreeTest, DeeperThanDescriptorsGo) {
  TemporaryFolder folder;
  ASSERT_TRUE(MakeFolders(folder / "tree").ok());
  int level = open((folder / "tree").c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(mkdirat(level, "d", 0700), 0);
    const int next = openat(level, "d", O_RDONLY | O_DIRECTORY);
    ASSERT_GE(next, 0);
    close(level);
    level = next;
  }
  close(level);
  const absl::Status status = RemoveTree(folder / "tree");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(Exists(folder / "tree"));
}

TEST(RemoveTreeTest, LeavesMountedFileSystemAlone) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "tree/mounted");
  Put(folder / "tree/removable", "");
  if (mount("none", (folder / "tree/mounted").c_str(), "tmpfs", 0, "") != 0) {
    GTEST_SKIP() << "only root can mount a file system to see that it is left alone";
  }
  Put(folder / "tree/mounted/precious", "kept");
  const absl::Status status = RemoveTree(folder / "tree");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("tree/mounted"), HasSubstr("another file system")));
  EXPECT_EQ(Contents(folder / "tree/mounted/precious"), "kept");
  EXPECT_FALSE(Exists(folder / "tree/removable"));
  ASSERT_EQ(umount((folder / "tree/mounted").c_str()), 0);
}

/// Runs as nobody, who cannot remove what is root's.
int RemoveAsNobody(const std::string& path, int message_pipe) {
  if (setgid(65534) != 0 || setuid(65534) != 0) return 2;
  const absl::Status status = RemoveTree(path);
  const std::string message(status.message());
  if (write(message_pipe, message.data(), message.size()) < 0) return 3;
  return status.code() == absl::StatusCode::kPermissionDenied ? 0 : 1;
}

TEST(RemoveTreeTest, ReportsWhatStays) {
  if (!IsRoot()) GTEST_SKIP() << "only root can make files that another user may not remove";
  TemporaryFolder folder;
  chmod(folder.path().c_str(), 0755);
  std::filesystem::create_directories(folder / "tree/roots");
  for (int i = 0; i < 8; ++i) Put(folder / absl::StrCat("tree/roots/", i), "");
  Put(folder / "tree/own", "");
  ASSERT_EQ(chown((folder / "tree").c_str(), 65534, 65534), 0);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) _exit(RemoveAsNobody(folder / "tree", ends[1]));
  close(ends[1]);
  char buffer[4096];
  const ssize_t length = read(ends[0], buffer, sizeof(buffer));
  close(ends[0]);
  int exit_status = 0;
  ASSERT_EQ(waitpid(child, &exit_status, 0), child);
  EXPECT_EQ(exit_status, 0);
  ASSERT_GT(length, 0);
  EXPECT_THAT(std::string(buffer, static_cast<size_t>(length)),
              AllOf(HasSubstr("tree/roots/"), HasSubstr("Permission denied"), HasSubstr("4 more")));
  EXPECT_FALSE(Exists(folder / "tree/own"));
  EXPECT_TRUE(Exists(folder / "tree/roots/0"));
}

TEST(OpenOrMakeFileTest, OnlyAFileThatItMakesGetsTheMode) {
  TemporaryFolder folder;
  const ScopedUmask scoped(0777);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0), 0);
  ASSERT_EQ(chmod((folder / "pipe").c_str(), 0666), 0);  // as a device's
  EXPECT_TRUE(OpenOrMakeFile(folder / "pipe", O_RDWR).valid());
  EXPECT_EQ(ModeOf(folder / "pipe"), 0666u);
  EXPECT_TRUE(OpenOrMakeFile(folder / "new", O_RDWR, 0640).valid());
  EXPECT_TRUE(OpenOrMakeFile(folder / "new", O_RDWR, 0600).valid());
  EXPECT_EQ(ModeOf(folder / "new"), 0640u);
}

TEST(OpenOrMakeFileTest, ALinkToNothingIsNoFile) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("nothing", folder / "link");
  EXPECT_FALSE(OpenOrMakeFile(folder / "link", O_RDWR).valid());
  EXPECT_EQ(errno, ENOENT);
}

TEST(AppendFileTest, LinesOfSeveralWritersDoNotMix) {
  TemporaryFolder folder;
  const ScopedUmask scoped(0777);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const auto file = AppendFile::Open(folder / "log");
      ASSERT_TRUE(file.ok()) << file.status();
      for (int line = 0; line < 200; ++line) ASSERT_TRUE(file->Append("0123456789\n").ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (int line = 0; line < 800; ++line) expected += "0123456789\n";
  EXPECT_EQ(Contents(folder / "log"), expected);
  EXPECT_EQ(ModeOf(folder / "log"), 0600u);
}

TEST(AppendFileTest, FullDisk) {
  const auto file = AppendFile::Open("/dev/full");
  if (!file.ok()) GTEST_SKIP() << "no /dev/full to see a full disk with: " << file.status();
  const absl::Status status = file->Append("x");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace tony::os
