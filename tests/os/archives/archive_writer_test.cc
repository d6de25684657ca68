// Packing real folders, and what comes out again.
#include "os/archives/archive_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <openssl/sha.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include <filesystem>

#include "absl/strings/escaping.h"
#include "os/archives/archive_reader.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status PackAndUnpack(const TemporaryFolder& folder) {
  const auto packed = PackFolder(folder / "in", folder / "a.tar.zst");
  if (!packed.ok()) return packed.status();
  const auto unpacked = UnpackArchive(folder / "a.tar.zst", folder / "out");
  if (!unpacked.ok()) return unpacked.status();
  EXPECT_EQ(packed->entries, unpacked->entries);
  return absl::OkStatus();
}

TEST(PackFolderTest, RoundTrip) {
  TemporaryFolder folder;
  Put(folder / "in/train.py", "print('hi')\n");
  Put(folder / "in/data/run.sh", "#!/bin/sh\n");
  Put(folder / "in/data/key", "secret");
  Put(folder / "in/big", std::string(3'000'000, 'b'));
  std::filesystem::create_directories(folder / "in/empty");
  std::filesystem::create_symlink("../train.py", folder / "in/data/link");
  std::filesystem::create_symlink("dangling", folder / "in/data/nowhere");
  chmod((folder / "in/data/run.sh").c_str(), 0755);
  chmod((folder / "in/data/key").c_str(), 0600);
  const timespec times[] = {{1'234'567'890, 5}, {1'234'567'890, 5}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder / "in/train.py").c_str(), times, 0), 0);

  for (const mode_t mask : {0777, 0}) {
    const ScopedUmask scoped(mask);
    std::filesystem::remove_all(folder / "out");
    std::filesystem::remove(folder / "a.tar.zst");
    const absl::Status status = PackAndUnpack(folder);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(ModeOf(folder / "a.tar.zst"), 0600u);
    EXPECT_EQ(ModeOf(folder / "out/data/run.sh"), 0755u);
    EXPECT_EQ(ModeOf(folder / "out/data/key"), 0600u);
    EXPECT_EQ(ModeOf(folder / "out/empty"), 0755u);
  }
  EXPECT_EQ(Contents(folder / "out/train.py"), "print('hi')\n");
  EXPECT_EQ(Contents(folder / "out/big"), std::string(3'000'000, 'b'));
  EXPECT_EQ(LinkTarget(folder / "out/data/link"), "../train.py");
  EXPECT_EQ(LinkTarget(folder / "out/data/nowhere"), "dangling");
  struct stat info;
  ASSERT_EQ(stat((folder / "out/train.py").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtime, 1'234'567'890);
}

TEST(PackFolderTest, NamesOfAnyBytes) {
  TemporaryFolder folder;
  const std::string long_name(200, 'n');
  const std::vector<std::string> names = {
      "with space", "quote'\"$HOME`", "line\nbreak", "latin\xE9", "\xFF\xFE", "grüße", "e\xCC\x81",
      "\xC3\xA9",   "-dash",          "back\\slash", "*?[x]",     long_name,  " ",     "a=b"};
  for (const std::string& name : names) {
    Put(folder / ("in/" + name + "/" + name), name);
    std::filesystem::create_symlink(name, folder / ("in/" + name + "/link"));
  }
  const absl::Status status = PackAndUnpack(folder);
  ASSERT_TRUE(status.ok()) << status;
  for (const std::string& name : names) {
    EXPECT_EQ(Contents(folder / ("out/" + name + "/" + name)), name);
    EXPECT_EQ(LinkTarget(folder / ("out/" + name + "/link")), name);
  }
}

TEST(PackFolderTest, SameContentsSameBytes) {
  TemporaryFolder folder;
  // Made in different orders, so that the file system may list them differently.
  for (const char* name : {"c", "a", "b/x"}) Put(folder / "one/" + name, name);
  for (const char* name : {"b/x", "a", "c"}) Put(folder / "two/" + name, name);
  for (const char* name : {"one/a", "one/b/x", "one/c", "two/a", "two/b/x", "two/c"}) {
    const timespec times[] = {{1'500'000'000, 0}, {1'500'000'000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (folder / name).c_str(), times, 0), 0);
  }
  Put(folder / "two/__pycache__/a.pyc", "skipped, though it changes the folder's time");
  Put(folder / "two/b/.git/HEAD", "skipped");
  const auto one = PackFolder(folder / "one", folder / "1.tar.zst");
  const auto two = PackFolder(folder / "two", folder / "2.tar.zst");
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(one->digest, two->digest);
  EXPECT_EQ(one->entries, 4);
  const std::string bytes = Contents(folder / "1.tar.zst");
  EXPECT_EQ(bytes, Contents(folder / "2.tar.zst"));
  EXPECT_EQ(one->bytes, static_cast<int64_t>(bytes.size()));
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest);
  EXPECT_EQ(one->digest,
            absl::BytesToHexString(std::string(reinterpret_cast<char*>(digest), sizeof(digest))));
  Put(folder / "two/a", "changed");
  EXPECT_NE(PackFolder(folder / "two", folder / "3.tar.zst")->digest, one->digest);
}

TEST(PackFolderTest, EmptyFolder) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "in");
  const absl::Status status = PackAndUnpack(folder);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
}

TEST(PackFolderTest, ArchiveInsideTheFolderItself) {
  TemporaryFolder folder;
  Put(folder / "in/f", "x");
  const auto packed = PackFolder(folder / "in", folder / "in/a.tar.zst");
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->entries, 1);
}

/// Expects that packing folder/in fails with `code`, names `entry`, and leaves no archive.
void ExpectRefused(const TemporaryFolder& folder, absl::StatusCode code, const std::string& entry) {
  const auto packed = PackFolder(folder / "in", folder / "a.tar.zst");
  EXPECT_EQ(packed.status().code(), code) << packed.status();
  EXPECT_THAT(std::string(packed.status().message()), HasSubstr(folder / entry));
  EXPECT_FALSE(Exists(folder / "a.tar.zst"));
}

TEST(PackFolderTest, RefusesLinksThatLeave) {
  for (const char* target : {"/etc/passwd", "../../outside", "..", "d/../../x"}) {
    TemporaryFolder folder;
    Put(folder / "in/f", "x");
    std::filesystem::create_symlink(target, folder / "in/link");
    ExpectRefused(folder, kInvalid, "in/link");
  }
  TemporaryFolder folder;
  Put(folder / "in/d/e/f", "x");
  std::filesystem::create_symlink("../..", folder / "in/d/e/up");
  ASSERT_TRUE(PackFolder(folder / "in", folder / "fine.tar.zst").ok());
  std::filesystem::create_symlink("d/e/up/..", folder / "in/link");
  ExpectRefused(folder, kInvalid, "in/link");
}

TEST(PackFolderTest, KeepsEscapingLinksThatTheCallerAllows) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "in");
  std::filesystem::create_symlink("/usr/bin/env", folder / "in/env");
  PackOptions options;
  options.keep_escaping_link = [](const std::string& path, const std::string& target) {
    return path == "env" && target == "/usr/bin/env";
  };
  EXPECT_TRUE(PackFolder(folder / "in", folder / "a.tar.zst", options).ok());
  EXPECT_EQ(UnpackArchive(folder / "a.tar.zst", folder / "out").status().code(), kInvalid);
}

TEST(PackFolderTest, RefusesWhatIsNoFile) {
  TemporaryFolder pipe_folder;
  Put(pipe_folder / "in/f", "x");
  ASSERT_EQ(mkfifo((pipe_folder / "in/pipe").c_str(), 0600), 0);
  ExpectRefused(pipe_folder, kInvalid, "in/pipe");

  TemporaryFolder socket_folder;
  std::filesystem::create_directories(socket_folder / "in");
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {AF_UNIX, {}};
  (socket_folder / "in/socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ExpectRefused(socket_folder, kInvalid, "in/socket");
  close(server);
}

TEST(PackFolderTest, RefusesDevice) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder / "in");
  if (mknod((folder / "in/null").c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) {
    GTEST_SKIP() << "only root can make a device";
  }
  ExpectRefused(folder, kInvalid, "in/null");
}

TEST(PackFolderTest, NamesUnreadableFilesAndFolders) {
  if (geteuid() == 0) GTEST_SKIP() << "root can read every file";
  TemporaryFolder folder;
  Put(folder / "in/sub/secret", "x");
  chmod((folder / "in/sub/secret").c_str(), 0);
  ExpectRefused(folder, absl::StatusCode::kPermissionDenied, "in/sub/secret");
  chmod((folder / "in/sub").c_str(), 0);
  ExpectRefused(folder, absl::StatusCode::kPermissionDenied, "in/sub");
  chmod((folder / "in/sub").c_str(), 0700);
}

TEST(PackFolderTest, BadPaths) {
  TemporaryFolder folder;
  Put(folder / "file", "x");
  const std::string archive = folder / "a.tar.zst";
  EXPECT_EQ(PackFolder(folder / "none", archive).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(PackFolder(folder / "file", archive).status().code(), kInvalid);
  EXPECT_FALSE(Exists(archive));
  Put(archive, "somebody's");
  EXPECT_EQ(PackFolder(folder.path(), archive).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Contents(archive), "somebody's");
}

TEST(PackFileTest, OneEntryOfTheFilesName) {
  TemporaryFolder folder;
  Put(folder / "some where/train.py", "code");
  const auto packed = PackFile(folder / "some where/train.py", folder / "a.tar.zst");
  ASSERT_TRUE(packed.ok()) << packed.status();
  EXPECT_EQ(packed->entries, 1);
  EXPECT_EQ(packed->digest.size(), 64u);
  ASSERT_TRUE(UnpackArchive(folder / "a.tar.zst", folder / "out").ok());
  EXPECT_EQ(Contents(folder / "out/train.py"), "code");
}

TEST(PackFileTest, Refuses) {
  TemporaryFolder folder;
  EXPECT_EQ(PackFile(folder / "none", folder / "a").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(PackFile(folder.path(), folder / "a").status().code(), kInvalid);
  EXPECT_EQ(PackFile("/dev/null", folder / "a").status().code(), kInvalid);
  EXPECT_FALSE(Exists(folder / "a"));
}

}  // namespace
}  // namespace tony::os
