// One function per kind of archive. Only a virtual environment is shared between the
// host's containers, through the cache folder; everything else is laid into the working folder.
#include "executor/setup/localizer.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/archives/archive_reader.h"
#include "os/archives/folder_cache.h"
#include "os/archives/virtual_environment.h"
#include "os/files/files.h"

namespace tony::executor {
namespace {

absl::Status CopyFile(const std::string& from, const std::string& to) {
  std::error_code error;
  std::filesystem::copy_file(from, to, error);
  if (!error) return absl::OkStatus();
  return os::ErrnoError(error.value(), absl::StrCat("cannot copy ", from, " to ", to));
}

absl::Status LinkVirtualEnvironment(const v1::Archive& archive, const std::string& working_folder,
                                    const std::string& cache_folder, Duration wait_limit,
                                    const std::vector<std::string>& interpreter_folders) {
  absl::StatusOr<std::string> folder = os::UnpackOnce(
      cache_folder, archive.digest(), wait_limit,
      [&](const std::string& filling) -> absl::Status {
        return os::UnpackVirtualEnvironment(archive.path(), filling, interpreter_folders).status();
      },
      os::Durability::kCached);
  TONY_RETURN_IF_ERROR(folder.status());
  const std::string link = absl::StrCat(working_folder, "/", archive.name());
  if (symlink(folder->c_str(), link.c_str()) != 0) {
    return os::ErrnoError(errno, absl::StrCat("cannot link the virtual environment as ", link));
  }
  return absl::OkStatus();
}

absl::Status LocalizeOne(const v1::Archive& archive, const std::string& working_folder,
                         const std::string& cache_folder, Duration wait_limit,
                         const std::vector<std::string>& interpreter_folders) {
  switch (archive.kind()) {
    case v1::Archive::FILE:
      return CopyFile(archive.path(), absl::StrCat(working_folder, "/", archive.name()));
    case v1::Archive::PROGRAM:
      return os::UnpackArchive(archive.path(), working_folder).status();
    case v1::Archive::ARCHIVE:
      return os::UnpackArchive(archive.path(), absl::StrCat(working_folder, "/", archive.name()))
          .status();
    case v1::Archive::VIRTUAL_ENVIRONMENT:
      return LinkVirtualEnvironment(archive, working_folder, cache_folder, wait_limit,
                                    interpreter_folders);
    default:
      return absl::InvalidArgumentError(absl::StrCat("unknown kind of archive: ", archive.path()));
  }
}

}  // namespace

absl::Status Localize(const std::vector<v1::Archive>& archives, const std::string& working_folder,
                      const std::string& cache_folder, Duration wait_limit,
                      const std::vector<std::string>& interpreter_folders) {
  for (const v1::Archive& archive : archives) {
    LogDebug("laying out", {{"name", archive.name()}, {"from", archive.path()}});
    TONY_RETURN_IF_ERROR(
        LocalizeOne(archive, working_folder, cache_folder, wait_limit, interpreter_folders));
  }
  return absl::OkStatus();
}

}  // namespace tony::executor
