// Each file by a write and a rename.
#include "backend/yarn/hdfs_job_files.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <random>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files.h"

namespace tony::backend {
namespace {

constexpr int kFileMode = 0600;
/// Larger than any file that is written here; a stranger's would not fill the memory.
constexpr size_t kMostBytes = 64 << 20;
/// Of names that are not final.
constexpr char kAside[] = ".tony-";

}  // namespace

absl::StatusOr<std::string> HdfsJobFiles::Read(const std::string& name) {
  return hdfs_.Read(PathOf(name), kMostBytes);
}

std::string HdfsJobFiles::AsideOf(const std::string& name) const {
  const std::string path = PathOf(name);
  return absl::StrCat(path.substr(0, path.rfind('/') + 1), kAside, std::random_device()());
}

absl::Status HdfsJobFiles::Settle(const std::string& aside, const std::string& name) {
  const absl::Status renamed = hdfs_.RenameToNew(aside, PathOf(name));
  if (!renamed.ok()) (void)hdfs_.Delete(aside, /*recursive=*/false);
  return renamed;
}

absl::Status HdfsJobFiles::Create(const std::string& name, const std::string& contents) {
  const std::string aside = AsideOf(name);
  TONY_RETURN_IF_ERROR(hdfs_.Write(aside, kFileMode, /*overwrite=*/false, contents));
  return Settle(aside, name);
}

absl::Status HdfsJobFiles::CreateFrom(const std::string& name, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return os::ErrnoError(errno, path);
  const std::string aside = AsideOf(name);
  const auto read = [&](char* data, size_t size) -> absl::StatusOr<size_t> {
    file.read(data, static_cast<std::streamsize>(size));
    if (file.bad()) return os::ErrnoError(errno, path);
    return static_cast<size_t>(file.gcount());
  };
  const absl::Status written = hdfs_.Create(aside, kFileMode, /*overwrite=*/false, read);
  if (!written.ok()) {
    (void)hdfs_.Delete(aside, /*recursive=*/false);
    return written;
  }
  return Settle(aside, name);
}

absl::Status HdfsJobFiles::Replace(const std::string& name, const std::string& contents) {
  const std::string aside = AsideOf(name);
  TONY_RETURN_IF_ERROR(hdfs_.Write(aside, kFileMode, /*overwrite=*/false, contents));
  return hdfs_.Rename(aside, PathOf(name));
}

absl::StatusOr<StoredFile> HdfsJobFiles::Describe(const std::string& name) {
  TONY_ASSIGN_OR_RETURN(const hadoop::HdfsFileStatus status, hdfs_.Status(PathOf(name)));
  return StoredFile{status.bytes, status.modified_millis};
}

absl::StatusOr<std::vector<std::string>> HdfsJobFiles::List(const std::string& folder) {
  std::vector<std::string> names;
  const auto files = hdfs_.List(PathOf(folder));
  if (absl::IsNotFound(files.status())) return names;
  TONY_RETURN_IF_ERROR(files.status());
  for (const hadoop::HdfsFileStatus& file : *files) {
    if (!absl::StartsWith(file.name, kAside)) names.push_back(file.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status HdfsJobFiles::Remove(const std::string& name) {
  return hdfs_.Delete(PathOf(name), /*recursive=*/true).status();
}

}  // namespace tony::backend
