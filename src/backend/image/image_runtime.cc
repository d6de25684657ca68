// Size and time name an archive: a digest of 30 MB would take longer than all other preparations.
#include "backend/image/image_runtime.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/archives/archive_reader.h"
#include "os/archives/folder_cache.h"
#include "os/files/files.h"
#include "os/processes/own_program.h"

namespace tony::backend {
namespace {

namespace fs = std::filesystem;

/// Path of the archive that the build makes, relative to the programs.
constexpr char kBuiltRuntime[] = "../runtime/tony-runtime.tar.gz";
constexpr char kTopFolder[] = "tony-runtime";
constexpr std::chrono::seconds kPatience{120};
constexpr std::chrono::hours kUnusedLimit{24 * 30};

absl::StatusOr<ImageRuntime> RuntimeIn(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder + "/lib", error)) {
    if (absl::StartsWith(entry.path().filename().string(), "ld-linux")) {
      return ImageRuntime{folder, entry.path().string()};
    }
  }
  return absl::NotFoundError(absl::StrCat(folder, " has no lib/ld-linux*; build `runtime` again"));
}

/// The folder of the bundle from which this program runs; empty: it does not.
std::string OwnBundle() {
  const absl::StatusOr<std::string> own = os::OwnProgram();
  if (!own.ok()) return "";
  const absl::StatusOr<std::vector<std::string>> command = os::OwnProgramCommand(*own);
  if (!command.ok() || command->front() == *own) return "";
  return fs::path(*own).parent_path().parent_path().string();
}

void RemoveUnused(const std::string& cache, const std::string& key) {
  std::error_code error;
  const auto limit = fs::file_time_type::clock::now() - kUnusedLimit;
  for (const auto& entry : fs::directory_iterator(cache, error)) {
    if (absl::StartsWith(entry.path().filename().string(), key)) continue;
    if (fs::last_write_time(entry.path(), error) > limit || error) continue;
    const absl::Status removed = os::RemoveTree(entry.path().string());
    if (!removed.ok()) LogInfo(std::string(removed.message()));
  }
}

}  // namespace

absl::StatusOr<ImageRuntime> PrepareRuntime(const std::string& local_dir) {
  if (const std::string own = OwnBundle(); !own.empty()) return RuntimeIn(own);
  TONY_ASSIGN_OR_RETURN(const std::string archive, os::ProgramBeside(kBuiltRuntime));
  struct stat info;
  if (::stat(archive.c_str(), &info) != 0) {
    return absl::NotFoundError(
        absl::StrCat("there is no ", fs::path(archive).lexically_normal().string(),
                     ", from which tony-executor runs in images; build the target `runtime`"));
  }
  const std::string cache = local_dir + "/runtime";
  const std::string key =
      absl::StrCat("runtime-", info.st_size, "-", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
  TONY_RETURN_IF_ERROR(os::MakeFolders(cache));
  TONY_ASSIGN_OR_RETURN(const std::string folder,
                        os::UnpackOnce(cache, key, kPatience, [&](const std::string& into) {
                          RemoveUnused(cache, key);
                          return os::UnpackArchive(archive, into).status();
                        }));
  ::utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
  return RuntimeIn(absl::StrCat(folder, "/", kTopFolder));
}

}  // namespace tony::backend
