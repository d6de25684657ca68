// Unpacking archives: good ones of every kind, and every kind of bad one.
#include "os/archives/archive_reader.h"

#include <fcntl.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/os/archives/archive_builder.h"
#include "tests/os/temporary_folder.h"

namespace tony::os {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;

std::string NameOf(Format format) {
  switch (format) {
    case Format::kTar:
      return "Tar";
    case Format::kTarGz:
      return "TarGz";
    case Format::kTarZst:
      return "TarZst";
    case Format::kZip:
      return "Zip";
  }
  return "";
}

/// A folder with "outside/precious" in it, an archive to be built, and the destination "out".
class UnpackTest : public testing::TestWithParam<Format> {
 protected:
  UnpackTest() { Put(folder_ / "outside/precious", "kept"); }
  ~UnpackTest() override {
    EXPECT_EQ(Contents(folder_ / "outside/precious"), "kept");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ / "outside"), {}), 1);
  }

  ArchiveBuilder Build() { return ArchiveBuilder(archive_, GetParam()); }

  /// Expects that unpacking fails with `code` and that the message names the archive and `text`.
  void ExpectRefused(absl::StatusCode code, const std::string& text,
                     const UnpackOptions& options = {}) {
    const auto result = UnpackArchive(archive_, out_, options);
    EXPECT_EQ(result.status().code(), code) << result.status();
    EXPECT_THAT(std::string(result.status().message()),
                AllOf(HasSubstr(archive_), HasSubstr(text)));
  }
  /// As ExpectRefused, and that CheckArchive says the same.
  void ExpectRefusedByBoth(absl::StatusCode code, const std::string& text,
                           const UnpackOptions& options = {}) {
    ExpectRefused(code, text, options);
    const auto checked = CheckArchive(archive_, options);
    EXPECT_EQ(checked.status().code(), code) << checked.status();
    EXPECT_THAT(std::string(checked.status().message()), HasSubstr(text));
  }

  TemporaryFolder folder_;
  // The name says nothing about the kind.
  const std::string archive_ = folder_ / "archive.bin";
  const std::string out_ = folder_ / "out";
};

INSTANTIATE_TEST_SUITE_P(AllKinds, UnpackTest,
                         testing::Values(Format::kTar, Format::kTarGz, Format::kTarZst,
                                         Format::kZip),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(UnpackTest, FilesFoldersAndLinks) {
  Build()
      .Folder("d/", 0750)
      .File("d/f", "contents", 0754)
      .File("without/parent", "p")
      .File("read-only", "r", 0400)
      .File("empty", "")
      .Link("d/l", "../without/parent")
      .File("big", std::string(2'000'000, 'x'));
  const ScopedUmask scoped(0777);
  const auto result = UnpackArchive(archive_, out_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->entries, 7);
  EXPECT_EQ(result->bytes, 8 + 1 + 1 + 2'000'000);
  EXPECT_EQ(Contents(out_ + "/d/f"), "contents");
  EXPECT_EQ(Contents(out_ + "/d/l"), "p");
  EXPECT_EQ(LinkTarget(out_ + "/d/l"), "../without/parent");
  EXPECT_EQ(Contents(out_ + "/big"), std::string(2'000'000, 'x'));
  EXPECT_EQ(Contents(out_ + "/empty"), "");
  EXPECT_EQ(ModeOf(out_), 0700u);
  EXPECT_EQ(ModeOf(out_ + "/d"), 0750u);
  EXPECT_EQ(ModeOf(out_ + "/d/f"), 0754u);
  EXPECT_EQ(ModeOf(out_ + "/without"), 0755u);
  EXPECT_EQ(ModeOf(out_ + "/read-only"), 0400u);
  struct stat info;
  ASSERT_EQ(stat((out_ + "/d/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtime, 1'600'000'000);
  const auto checked = CheckArchive(archive_);
  ASSERT_TRUE(checked.ok()) << checked.status();
  EXPECT_EQ(checked->entries, result->entries);
  EXPECT_EQ(checked->bytes, result->bytes);
}

TEST_P(UnpackTest, DropsSpecialBitsAndForeignWritePermission) {
  Build().File("setuid", "x", 06777).Folder("sticky", 07777).File("none", "x", 0).Folder("shut", 0);
  ASSERT_TRUE(UnpackArchive(archive_, out_).ok());
  EXPECT_EQ(ModeOf(out_ + "/setuid"), 0755u);
  EXPECT_EQ(ModeOf(out_ + "/sticky"), 0755u);
  EXPECT_EQ(ModeOf(out_ + "/none"), 0400u);
  EXPECT_EQ(ModeOf(out_ + "/shut"), 0700u);
}

TEST_P(UnpackTest, NamesOfAnyBytes) {
  const std::vector<std::string> names = {"with space", "$HOME'\"", "line\nbreak", "grüße",
                                          "e\xCC\x81",  "\xC3\xA9", "-x"};
  {
    ArchiveBuilder builder(archive_, GetParam());
    for (const std::string& name : names) builder.File(name, name);
  }
  const auto result = UnpackArchive(archive_, out_);
  ASSERT_TRUE(result.ok()) << result.status();
  for (const std::string& name : names) EXPECT_EQ(Contents(out_ + "/" + name), name);
}

TEST_P(UnpackTest, RefusesAbsolutePath) {
  const std::string target = folder_ / "outside/new";
  Build().File("fine", "x").File(target, "evil");
  ExpectRefusedByBoth(kInvalid, target);
}

TEST_P(UnpackTest, RefusesDotDot) {
  for (const char* name : {"../outside/new", "d/../../outside/new", "d/.."}) {
    Build().File(name, "evil");
    ExpectRefusedByBoth(kInvalid, "'..'");
  }
}

TEST_P(UnpackTest, RefusesLinkOut) {
  for (const std::string& target : {std::string("../outside"), std::string("/etc"),
                                    std::string(".."), std::string("d/../../outside/precious")}) {
    Build().File("d/f", "x").Link("evil-link", target);
    ExpectRefusedByBoth(kInvalid, "evil-link");
    EXPECT_FALSE(Exists(out_ + "/evil-link"));
    std::filesystem::remove_all(out_);
  }
}

TEST_P(UnpackTest, RefusesLinksThatLeaveTogether) {
  Build().Link("a/b/up", "../..").Link("out", "a/b/up/../outside");
  ExpectRefusedByBoth(kInvalid, "'out'");
}

TEST_P(UnpackTest, RefusesEntryThroughLinkOfTheArchive) {
  Build().Folder("d").Link("l", "d").File("l/f", "evil");
  ExpectRefusedByBoth(kInvalid, "'l/f'");
}

TEST_P(UnpackTest, RefusesFileInPlaceOfLink) {
  Build().Link("l", "elsewhere").File("l", "evil");
  ExpectRefusedByBoth(kInvalid, "'l'");
}

TEST_P(UnpackTest, RefusesEntryThroughLinkOfTheDestination) {
  std::filesystem::create_directories(out_);
  std::filesystem::create_symlink("../outside", out_ + "/l");
  Build().File("l/precious", "evil");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "symbolic link");
  Build().Folder("l");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "symbolic link");
  Build().File("l", "evil");
  ExpectRefused(absl::StatusCode::kAlreadyExists, "'l'");
  Build().Link("l", "elsewhere");
  ExpectRefused(absl::StatusCode::kAlreadyExists, "'l'");
  EXPECT_EQ(LinkTarget(out_ + "/l"), "../outside");
}

TEST_P(UnpackTest, SharesFoldersButReplacesNothing) {
  Put(out_ + "/d/own", "mine");
  chmod((out_ + "/d").c_str(), 0711);
  Build().Folder("d", 0755).File("d/new", "new");
  ASSERT_TRUE(UnpackArchive(archive_, out_).ok());
  EXPECT_EQ(Contents(out_ + "/d/new"), "new");
  EXPECT_EQ(ModeOf(out_ + "/d"), 0711u);
  Build().File("d/own", "other");
  ExpectRefused(absl::StatusCode::kAlreadyExists, "'d/own'");
  Build().File("d/own/below", "other");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "'d/own'");
  Build().Folder("d/own");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "'d/own'");
  EXPECT_EQ(Contents(out_ + "/d/own"), "mine");
}

TEST_P(UnpackTest, RefusesEntryTwice) {
  Build().File("f", "one").File("f", "two");
  ExpectRefused(absl::StatusCode::kAlreadyExists, "'f'");
  EXPECT_EQ(Contents(out_ + "/f"), "one");
}

TEST_P(UnpackTest, RefusesTruncated) {
  // Does not compress, so that every cut goes through contents.
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 200'000; ++i)
    noise.push_back(static_cast<char>((state = state * 1664525 + 1013904223) >> 24));
  Build().File("a", noise).File("b", noise);
  const auto size = std::filesystem::file_size(archive_);
  for (const auto length :
       {size - 20'000, size / 2, size / 3, uintmax_t{700}, uintmax_t{1}, uintmax_t{0}}) {
    std::filesystem::resize_file(archive_, length);
    std::filesystem::remove_all(out_);
    ExpectRefused(kInvalid, "");
  }
}

TEST_P(UnpackTest, RefusesTooManyEntries) {
  {
    ArchiveBuilder builder(archive_, GetParam());
    for (int i = 0; i < 11; ++i) builder.File(absl::StrCat(i), "");
  }
  UnpackOptions options;
  options.limits.max_entries = 10;
  ExpectRefusedByBoth(kExhausted, "more than 10 entries", options);
  options.limits.max_entries = 11;
  std::filesystem::remove_all(out_);
  EXPECT_TRUE(UnpackArchive(archive_, out_, options).ok());
}

// A kilobyte of names would make a hundred thousand folders.
TEST_P(UnpackTest, RefusesNamesThatImplyTooManyFolders) {
  const auto folders = [this] {
    if (!std::filesystem::exists(out_)) return std::ptrdiff_t{0};
    const std::filesystem::recursive_directory_iterator all(out_);
    return std::distance(begin(all), end(all));
  };
  const auto build = [this](int names, int depth) {
    ArchiveBuilder builder(archive_, GetParam());
    for (int i = 0; i < names; ++i) {
      std::string name = absl::StrCat(i);
      for (int below = 1; below < depth; ++below) name += "/d";
      builder.File(name + "/f", "");
    }
  };
  build(50, 2000);
  ExpectRefusedByBoth(kExhausted, "more than 256 folders deep", {});
  EXPECT_EQ(folders(), 0);
  build(50, 200);
  UnpackOptions options;
  options.limits.max_entries = 1000;
  ExpectRefusedByBoth(kExhausted, "more than 1000 entries and folders", options);
  EXPECT_LE(folders(), 1000);
  std::filesystem::remove_all(out_);
  options = {};
  options.limits.max_bytes = 1000 * kFolderBytes;
  ExpectRefusedByBoth(kExhausted, "this looks like an archive bomb", options);
  EXPECT_LE(folders(), 1010);  // and files
}

TEST_P(UnpackTest, RefusesTooManyBytes) {
  Build().File("a", std::string(600'000, 'a')).File("b", std::string(600'000, 'b'));
  UnpackOptions options;
  options.limits.max_bytes = 1'000'000;
  ExpectRefusedByBoth(kExhausted, "more than 1000000 bytes", options);
}

TEST_P(UnpackTest, RefusesBombByRatio) {
  if (GetParam() == Format::kTar) GTEST_SKIP() << "a plain tar does not compress";
  Build().File("zeros", std::string(8'000'000, '\0'));
  UnpackOptions options;
  options.limits.max_ratio = 50;
  options.limits.ratio_floor_bytes = 1'000'000;
  ExpectRefusedByBoth(kExhausted, "more than 50 times", options);
  options.limits.ratio_floor_bytes = 10'000'000;
  std::filesystem::remove_all(out_);
  EXPECT_TRUE(UnpackArchive(archive_, out_, options).ok());
}

/// Cases that zip cannot hold, or that do not depend on the compression.
class UnpackTarTest : public UnpackTest {};
INSTANTIATE_TEST_SUITE_P(Tar, UnpackTarTest, testing::Values(Format::kTar, Format::kTarZst),
                         [](const auto& info) { return NameOf(info.param); });

TEST_P(UnpackTarTest, BytesThatAreNoUtf8) {
  Build().File("latin\xE9/\xFF\xFE", "x").Link("l\xE8", "latin\xE9");
  const auto result = UnpackArchive(archive_, out_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Contents(out_ + "/latin\xE9/\xFF\xFE"), "x");
  EXPECT_EQ(LinkTarget(out_ + "/l\xE8"), "latin\xE9");
}

TEST_P(UnpackTarTest, HardLinks) {
  Build().File("d/f", "shared").HardLink("e/h", "d/f");
  const auto result = UnpackArchive(archive_, out_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Contents(out_ + "/e/h"), "shared");
  EXPECT_EQ(std::filesystem::hard_link_count(out_ + "/d/f"), 2u);
}

TEST_P(UnpackTarTest, RefusesHardLinkOut) {
  std::filesystem::create_directories(out_);
  std::filesystem::create_symlink("../outside", out_ + "/old-link");
  std::filesystem::create_symlink("../outside/precious", out_ + "/old-file-link");
  Build().HardLink("h", "../outside/precious");
  ExpectRefusedByBoth(kInvalid, "'h'");
  Build().HardLink("h", folder_ / "outside/precious");
  ExpectRefusedByBoth(kInvalid, "'h'");
  Build().HardLink("h", "old-link/precious");
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "old-link");
  Build().HardLink("h", "old-file-link");
  ExpectRefused(kInvalid, "old-file-link");
  Build().HardLink("h", "missing");
  ExpectRefused(kInvalid, "missing");
  Build().Link("l", "old-link").HardLink("h", "l");
  ExpectRefusedByBoth(kInvalid, "'h'");
  EXPECT_FALSE(Exists(out_ + "/h"));
  EXPECT_EQ(std::filesystem::hard_link_count(folder_ / "outside/precious"), 1u);
}

TEST_P(UnpackTarTest, RefusesDevicesAndPipes) {
  for (const unsigned type : {AE_IFCHR, AE_IFBLK, AE_IFIFO}) {
    Build().Special("special", type);
    ExpectRefusedByBoth(kInvalid, "'special'");
    EXPECT_FALSE(Exists(out_ + "/special"));
  }
}

/// A GNU tar of one file, "hole", that has `size` bytes and stores none of them.
std::string TarOfAHole(int64_t size) {
  std::string header(512, '\0');
  const auto put = [&](size_t offset, const std::string& text) {
    header.replace(offset, text.size(), text);
  };
  const std::string octal_size = absl::StrFormat("%011o", size);
  put(0, "hole");
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, "00000000000");  // Stored bytes.
  put(136, "00000000000");
  put(156, "S");
  put(257, "ustar  ");
  put(386, octal_size);  // The only piece: no bytes, at the end.
  put(398, "00000000000");
  put(483, octal_size);
  put(148, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, absl::StrFormat("%06o", sum) + std::string(1, '\0'));
  return header + std::string(1024, '\0');
}

TEST(UnpackPlainTarTest, CountsHoles) {
  TemporaryFolder folder;
  Put(folder / "a", TarOfAHole(5'000'000));
  const auto small = UnpackArchive(folder / "a", folder / "out");
  ASSERT_TRUE(small.ok()) << small.status();
  EXPECT_EQ(small->bytes, 5'000'000);
  EXPECT_EQ(std::filesystem::file_size(folder / "out/hole"), 5'000'000u);
  Put(folder / "a", TarOfAHole(int64_t{1} << 32));
  for (const auto& result :
       {UnpackArchive(folder / "a", folder / "out2"), CheckArchive(folder / "a")}) {
    EXPECT_EQ(result.status().code(), kExhausted) << result.status();
    EXPECT_THAT(std::string(result.status().message()), HasSubstr("'hole'"));
  }
  EXPECT_FALSE(Exists(folder / "out2/hole"));
}

TEST(UnpackPlainTarTest, RefusesCutBetweenEntries) {
  TemporaryFolder folder;
  ArchiveBuilder(folder / "a", Format::kTar).File("one", std::string(512, '1')).File("two", "2");
  // Two blocks for the extended header, one for the header, one for the contents.
  std::filesystem::resize_file(folder / "a", 4 * 512);
  const auto result = UnpackArchive(folder / "a", folder / "out");
  EXPECT_EQ(result.status().code(), kInvalid);
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("end mark is missing"));
}

TEST(UnpackPlainTarTest, RefusesChangedHeader) {
  TemporaryFolder folder;
  ArchiveBuilder(folder / "a", Format::kTar).File("one", "1").File("two", "2");
  std::string bytes = Contents(folder / "a");
  bytes[6 * 512] = 'X';  // The second header's name, so that its checksum is wrong.
  Put(folder / "a", bytes);
  EXPECT_EQ(UnpackArchive(folder / "a", folder / "out").status().code(), kInvalid);
}

TEST(UnpackCompressedTest, RefusesChangedContents) {
  // Not tar.zst: libarchive writes it without a checksum, so the archive's digest has to tell.
  for (const Format format : {Format::kTarGz, Format::kZip}) {
    TemporaryFolder folder;
    std::string text;
    for (int i = 0; i < 5000; ++i) absl::StrAppend(&text, i, " ");
    ArchiveBuilder(folder / "a", format).File("one", text);
    std::string bytes = Contents(folder / "a");
    for (size_t i = bytes.size() / 2; i < bytes.size() / 2 + 16; ++i) bytes[i] ^= 0x55;
    Put(folder / "a", bytes);
    const auto result = UnpackArchive(folder / "a", folder / "out");
    EXPECT_EQ(result.status().code(), kInvalid) << NameOf(format) << result.status();
  }
}

TEST(UnpackZipTest, RefusesDevice) {
  TemporaryFolder folder;
  ArchiveBuilder(folder / "a", Format::kZip).File("special", "x");
  std::string bytes = Contents(folder / "a");
  // The upper half of the external attributes in the central directory is the Unix mode.
  const size_t central = bytes.rfind("PK\1\2");
  ASSERT_NE(central, std::string::npos);
  const uint16_t mode = S_IFCHR | 0644;
  bytes[central + 40] = static_cast<char>(mode & 0xFF);
  bytes[central + 41] = static_cast<char>(mode >> 8);
  Put(folder / "a", bytes);
  const auto result = UnpackArchive(folder / "a", folder / "out");
  EXPECT_EQ(result.status().code(), kInvalid) << result.status();
  EXPECT_THAT(std::string(result.status().message()), HasSubstr("device"));
}

TEST(UnpackArchiveTest, RefusesWhatIsNoArchive) {
  TemporaryFolder folder;
  Put(folder / "text.zip", "This is no archive, whatever its name says.\n");
  const auto text = UnpackArchive(folder / "text.zip", folder / "out");
  EXPECT_EQ(text.status().code(), kInvalid);
  EXPECT_THAT(std::string(text.status().message()),
              AllOf(HasSubstr("text.zip"), HasSubstr("tar.zst")));
  EXPECT_EQ(UnpackArchive(folder / "none", folder / "out").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(UnpackArchive(folder.path(), folder / "out").status().code(), kInvalid);
  EXPECT_EQ(UnpackArchive("/dev/null", folder / "out").status().code(), kInvalid);
}

TEST(UnpackArchiveTest, DestinationIsNoFolder) {
  TemporaryFolder folder;
  ArchiveBuilder(folder / "a", Format::kTar).File("f", "x");
  Put(folder / "file", "mine");
  EXPECT_EQ(UnpackArchive(folder / "a", folder / "file").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Contents(folder / "file"), "mine");
}

TEST(UnpackArchiveTest, UnreadableArchiveAndUnwritableDestination) {
  if (geteuid() == 0) GTEST_SKIP() << "root can read and write everywhere";
  TemporaryFolder folder;
  ArchiveBuilder(folder / "a", Format::kTar).File("f", "x");
  std::filesystem::create_directories(folder / "out");
  chmod((folder / "out").c_str(), 0500);
  const auto unwritable = UnpackArchive(folder / "a", folder / "out");
  EXPECT_EQ(unwritable.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(unwritable.status().message()), HasSubstr("'f'"));
  chmod((folder / "a").c_str(), 0);
  EXPECT_EQ(UnpackArchive(folder / "a", folder / "new").status().code(),
            absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace tony::os
