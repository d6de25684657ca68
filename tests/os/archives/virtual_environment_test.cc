// Virtual environments given as folders and archives, unpacked where their interpreter is and where
// it is not.
#include "os/archives/virtual_environment.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/os/archives/archive_builder.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(IsInterpreterLinkTest, OnlyPythonsInBin) {
  EXPECT_TRUE(IsInterpreterLink("bin/python", "/usr/bin/python3.11"));
  EXPECT_TRUE(IsInterpreterLink("my venv/bin/python3", "/opt/python3/bin/python3"));
  EXPECT_FALSE(IsInterpreterLink("bin/python", "../../python3"));
  EXPECT_FALSE(IsInterpreterLink("bin/python", "/bin/sh"));
  EXPECT_FALSE(IsInterpreterLink("bin/python", "/opt/python3/"));
  EXPECT_FALSE(IsInterpreterLink("bin/pip", "/usr/bin/python3"));
  EXPECT_FALSE(IsInterpreterLink("python", "/usr/bin/python3"));
  EXPECT_FALSE(IsInterpreterLink("sbin/python", "/usr/bin/python3"));
  EXPECT_FALSE(IsInterpreterLink("bin/python/x", "/usr/bin/python3"));
}

/// A machine with one interpreter, "machine/python3.99", and an environment "venv" made with it.
class VirtualEnvironmentTest : public testing::Test {
 protected:
  VirtualEnvironmentTest() {
    Put(interpreter_, "#!/bin/sh\necho Python\n");
    chmod(interpreter_.c_str(), 0755);
    std::filesystem::create_symlink("python3.99", folder_ / "machine/python3");
    Put(folder_ / "venv/pyvenv.cfg", "home = /usr/bin\nversion = 3.99.1\n");
    Put(folder_ / "venv/lib/python3.99/site-packages/m.py", "x = 1\n");
    Put(folder_ / "venv/lib/python3.99/site-packages/__pycache__/m.cpython-399.pyc", "compiled");
    std::filesystem::create_directories(folder_ / "venv/bin");
    std::filesystem::create_symlink("lib", folder_ / "venv/lib64");
    std::filesystem::create_symlink("python3", folder_ / "venv/bin/python");
    std::filesystem::create_symlink(folder_ / "machine/python3", folder_ / "venv/bin/python3");
    std::filesystem::create_symlink("python3", folder_ / "venv/bin/python3.99");
  }

  void Pack() {
    const auto packed = PackVirtualEnvironment(folder_ / "venv", archive_);
    ASSERT_TRUE(packed.ok()) << packed.status();
    EXPECT_EQ(packed->digest.size(), 64u);
  }

  absl::StatusOr<VirtualEnvironment> Unpack(const std::vector<std::string>& folders = {}) {
    return UnpackVirtualEnvironment(archive_, out_, folders);
  }

  TemporaryFolder folder_;
  const std::string interpreter_ = folder_ / "machine/python3.99";
  const std::string archive_ = folder_ / "venv.tar.zst";
  const std::string out_ = folder_ / "out";
};

TEST_F(VirtualEnvironmentTest, WhereTheInterpreterIs) {
  Pack();
  const auto made = Unpack();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->interpreters, ElementsAre(Pair("bin/python3", folder_ / "machine/python3")));
  EXPECT_EQ(std::filesystem::canonical(out_ + "/bin/python"), interpreter_);
  EXPECT_EQ(std::filesystem::canonical(out_ + "/bin/python3.99"), interpreter_);
  EXPECT_EQ(LinkTarget(out_ + "/bin/python"), "python3");
  EXPECT_EQ(LinkTarget(out_ + "/lib64"), "lib");
  EXPECT_TRUE(Exists(out_ + "/lib/python3.99/site-packages/__pycache__/m.cpython-399.pyc"));
}

TEST_F(VirtualEnvironmentTest, WhereTheInterpreterIsElsewhere) {
  Pack();
  std::filesystem::rename(folder_ / "machine", folder_ / "other machine");
  const auto made = Unpack({"", "relative", folder_ / "none", folder_ / "other machine"});
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(LinkTarget(out_ + "/bin/python3"), folder_ / "other machine/python3.99");
  EXPECT_EQ(std::filesystem::canonical(out_ + "/bin/python"), folder_ / "other machine/python3.99");
}

TEST_F(VirtualEnvironmentTest, WhereTheSamePathIsAnotherVersion) {
  Pack();
  Put(folder_ / "machine/python3.98", "");
  chmod((folder_ / "machine/python3.98").c_str(), 0755);
  std::filesystem::remove(folder_ / "machine/python3");
  std::filesystem::create_symlink("python3.98", folder_ / "machine/python3");
  EXPECT_EQ(Unpack().status().code(), absl::StatusCode::kNotFound);
  std::filesystem::remove_all(out_);
  ASSERT_TRUE(Unpack({folder_ / "machine"}).ok());
  EXPECT_EQ(LinkTarget(out_ + "/bin/python3"), interpreter_);
}

TEST_F(VirtualEnvironmentTest, WhereThereIsNone) {
  Pack();
  std::filesystem::remove_all(folder_ / "machine");
  std::filesystem::create_directories(folder_ /
                                      "machine/python3.99");  // A folder is no interpreter.
  const auto made = Unpack({folder_ / "machine", "/none"});
  EXPECT_EQ(made.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(made.status().message()),
              AllOf(HasSubstr(archive_), HasSubstr("'bin/python3'"), HasSubstr("machine/python3'"),
                    HasSubstr("python3.99 in"), HasSubstr("/machine:/none")));
}

TEST_F(VirtualEnvironmentTest, VersionFromVirtualenvOrFromTheName) {
  Put(folder_ / "venv/pyvenv.cfg", "home=/usr/bin\nversion_info=3.99.0.final.0\n");
  Pack();
  std::filesystem::rename(folder_ / "machine", folder_ / "other");
  ASSERT_TRUE(Unpack({folder_ / "other"}).ok());

  std::filesystem::remove_all(out_);
  ArchiveBuilder(archive_, Format::kTar).Link("bin/python", "/opt/none/python3.99d");
  ASSERT_TRUE(Unpack({folder_ / "other"}).ok());
  EXPECT_EQ(LinkTarget(out_ + "/bin/python"), folder_ / "other/python3.99");

  std::filesystem::remove_all(out_);
  ArchiveBuilder(archive_, Format::kTar).Link("bin/python", "/opt/none/python");
  const auto unknown = Unpack({folder_ / "other"});
  EXPECT_EQ(unknown.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.status().message()), HasSubstr("which Python version"));
}

TEST_F(VirtualEnvironmentTest, RefusesOtherEscapingLinks) {
  std::filesystem::create_symlink("/usr/include", folder_ / "venv/include");
  const auto packed = PackVirtualEnvironment(folder_ / "venv", archive_);
  EXPECT_EQ(packed.status().code(), kInvalid);
  EXPECT_THAT(std::string(packed.status().message()), HasSubstr("venv/include"));
  EXPECT_FALSE(Exists(archive_));
}

TEST_F(VirtualEnvironmentTest, RefusesInterpreterThatIsNoPython) {
  std::filesystem::remove(folder_ / "venv/bin/python3");
  std::filesystem::create_symlink("/bin/sh", folder_ / "venv/bin/python3");
  EXPECT_EQ(PackVirtualEnvironment(folder_ / "venv", archive_).status().code(), kInvalid);
}

TEST_F(VirtualEnvironmentTest, GivenAsArchive) {
  for (const Format format : {Format::kZip, Format::kTarGz}) {
    const std::string given = folder_ / "given";
    ArchiveBuilder(given, format)
        .File("my-venv/pyvenv.cfg", "version = 3.99.1\n")
        .Link("my-venv/bin/python", folder_ / "machine/python3")
        .File("my-venv/bin/pip", "#!x\n", 0755);
    const auto packed = PackVirtualEnvironment(given, archive_);
    ASSERT_TRUE(packed.ok()) << packed.status();
    EXPECT_EQ(packed->entries, 3);
    EXPECT_EQ(packed->bytes, static_cast<int64_t>(std::filesystem::file_size(given)));
    EXPECT_EQ(Contents(archive_), Contents(given));
    EXPECT_EQ(ModeOf(archive_), 0600u);
    const auto made = Unpack();
    ASSERT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(std::filesystem::canonical(out_ + "/my-venv/bin/python"), interpreter_);
    std::filesystem::remove_all(out_);
    std::filesystem::remove(archive_);
  }
}

TEST_F(VirtualEnvironmentTest, InterpreterAsPlainFileStays) {
  ArchiveBuilder(folder_ / "given", Format::kZip).File("bin/python3.99", "ELF", 0755);
  ASSERT_TRUE(PackVirtualEnvironment(folder_ / "given", archive_).ok());
  const auto made = Unpack();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_THAT(made->interpreters, IsEmpty());
  EXPECT_EQ(ModeOf(out_ + "/bin/python3.99"), 0755u);
}

TEST_F(VirtualEnvironmentTest, RefusesBadArchives) {
  const std::string given = folder_ / "given";
  const auto expect_refused = [&](const std::string& text) {
    const auto packed = PackVirtualEnvironment(given, archive_);
    EXPECT_EQ(packed.status().code(), kInvalid) << packed.status();
    EXPECT_THAT(std::string(packed.status().message()), HasSubstr(text));
    EXPECT_FALSE(Exists(archive_));
    const auto made = UnpackVirtualEnvironment(given, out_, {});
    EXPECT_EQ(made.status().code(), kInvalid) << made.status();
    EXPECT_FALSE(Exists(out_ + "/evil"));
  };
  ArchiveBuilder(given, Format::kZip).Link("bin/python", "/bin/sh");
  expect_refused("'bin/python'");
  ArchiveBuilder(given, Format::kZip).Link("bin/python", "../../machine/python3");
  expect_refused("'bin/python'");
  ArchiveBuilder(given, Format::kZip).Link("evil", "/usr/bin/python3");
  expect_refused("'evil'");
  ArchiveBuilder(given, Format::kTar)
      .Link("bin/python", "/usr/bin/python3")
      .File("bin/python/f", "");
  expect_refused("'bin/python/f'");
  Put(given, "no archive");
  expect_refused("given");
}

TEST_F(VirtualEnvironmentTest, MissingSource) {
  EXPECT_EQ(PackVirtualEnvironment(folder_ / "none", archive_).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tony::os
