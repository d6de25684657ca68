// An archive, of whoever made it: users unpack what they have downloaded.
//
// It is unpacked for real, into a folder of its own. Besides not crashing: nothing appears beside
// that folder; in it there are files, folders and symbolic links only, without special bits,
// without write permission of group and others, readable for their owner; links lead to places
// inside; what there is keeps the limits; and what CheckArchive() refuses is not unpacked.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "os/archives/archive_reader.h"
#include "os/files/files.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/memory_file.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostEntries = 200;
constexpr int64_t kMostBytes = int64_t{1} << 20;

/// A folder that goes with this object. Not thread safe.
class ScratchFolder {
 public:
  ScratchFolder() : path_((fs::temp_directory_path() / "tony-fuzz-XXXXXX").string()) {
    Require(mkdtemp(path_.data()) != nullptr, "a temporary folder can be made");
  }
  ~ScratchFolder() { (void)os::RemoveTree(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Where a link leads, resolved as the kernel does as far as there is something.
void CheckLink(const fs::path& link, const fs::path& destination) {
  std::error_code error;
  const fs::path target = fs::weakly_canonical(link, error);
  if (error) return;  // a circle of links leads nowhere
  const auto relative = target.lexically_relative(destination).string();
  Require(relative != ".." && !relative.starts_with("../"), "a link leads to a place inside");
}

void CheckEntry(const fs::path& path, const fs::path& destination) {
  struct stat info = {};
  Require(lstat(path.c_str(), &info) == 0, "what was unpacked is there");
  if (S_ISLNK(info.st_mode)) return CheckLink(path, destination);
  Require(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode), "files, folders and links only");
  Require((info.st_mode & 07022) == 0, "no special bits, and others may not write");
  const mode_t own = S_ISDIR(info.st_mode) ? 0700 : 0400;
  Require((info.st_mode & own) == own, "what is one's own is readable");
  Require(info.st_uid == geteuid(), "what was unpacked is one's own");
  Require(S_ISDIR(info.st_mode) || info.st_size <= kMostBytes, "no file is beyond the limit");
}

}  // namespace

void FuzzArchive(std::string_view input) {
  const MemoryFile archive(input);
  const os::UnpackOptions options{.limits = {.max_entries = kMostEntries, .max_bytes = kMostBytes}};
  const ScratchFolder scratch;
  const fs::path destination = fs::canonical(scratch.path()) / "destination";
  const auto checked = os::CheckArchive(archive.path(), options);
  const auto unpacked = os::UnpackArchive(archive.path(), destination, options);
  // Of a damaged archive less can be checked without unpacking its contents.
  const bool damaged = absl::StrContains(checked.status().message(), "corrupt");
  Require(checked.ok() || damaged || !unpacked.ok(), "what is refused is not unpacked");
  for (const auto& beside : fs::directory_iterator(scratch.path())) {
    Require(beside.path().filename() == "destination", "nothing appears beside the destination");
  }
  for (const auto& entry : fs::recursive_directory_iterator(destination)) {
    CheckEntry(entry.path(), destination);
  }
  if (!unpacked.ok()) return;
  Require(unpacked->entries <= kMostEntries, "there are no more entries than the limit");
  Require(unpacked->bytes <= kMostBytes, "there are no more bytes than the limit");
}

}  // namespace tony::fuzz
