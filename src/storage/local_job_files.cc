// Create() and Replace() use os/files/files.h, which makes each file in one step. CreateFrom()
// copies aside and then links the copy to its name.
#include "storage/local_job_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::storage {
namespace {

absl::Status MakeFolderOf(const std::string& path) {
  return os::MakeFolders(path.substr(0, path.rfind('/')));
}

}  // namespace

absl::StatusOr<std::string> LocalJobFiles::Read(const std::string& name) {
  return os::ReadFile(PathOf(name));
}

absl::Status LocalJobFiles::Create(const std::string& name, const std::string& contents) {
  const std::string path = PathOf(name);
  TONY_RETURN_IF_ERROR(MakeFolderOf(path));
  return os::CreateFileExclusively(path, contents);
}

absl::Status LocalJobFiles::Replace(const std::string& name, const std::string& contents) {
  const std::string path = PathOf(name);
  TONY_RETURN_IF_ERROR(MakeFolderOf(path));
  return os::WriteFileAtomically(path, contents);
}

absl::StatusOr<std::vector<std::string>> LocalJobFiles::ListAll(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(PathOf(folder), error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return os::ErrnoError(error.value(), PathOf(folder));
  }
  return names;
}

absl::Status LocalJobFiles::CreateFrom(const std::string& name, const std::string& path) {
  const std::string target = PathOf(name);
  TONY_RETURN_IF_ERROR(MakeFolderOf(target));
  const std::string aside =
      absl::StrCat(target.substr(0, target.rfind('/') + 1), kUnfinished, std::random_device()());
  std::error_code error;
  std::filesystem::copy_file(path, aside, error);
  if (!error) {
    using std::filesystem::perms;
    std::filesystem::permissions(aside, perms::owner_read | perms::owner_write, error);
  }
  if (error) {
    (void)os::RemoveTree(aside);
    return os::ErrnoError(error.value(), absl::StrCat("cannot copy ", path, " to ", aside));
  }
  // A hard link gives the file its name in one step and never replaces another file, unlike
  // rename().
  std::filesystem::create_hard_link(aside, target, error);
  const absl::Status removed = os::RemoveTree(aside);
  if (error) return os::ErrnoError(error.value(), target);
  return removed;
}

absl::StatusOr<StoredFile> LocalJobFiles::Describe(const std::string& name) {
  struct stat status {};
  if (stat(PathOf(name).c_str(), &status) != 0) return os::ErrnoError(errno, PathOf(name));
  return StoredFile{status.st_size,
                    status.st_mtim.tv_sec * int64_t{1000} + status.st_mtim.tv_nsec / 1'000'000};
}

absl::Status LocalJobFiles::Remove(const std::string& name) { return os::RemoveTree(PathOf(name)); }

}  // namespace tony::storage
