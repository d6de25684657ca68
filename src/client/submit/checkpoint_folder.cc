// The lock is taken by the client, before anything is staged, and is handed on to the job's
// processes: so a job in the queue has its folder already, and a restart of the ApplicationMaster
// leaves no moment in which another job could take it.
#include "client/submit/checkpoint_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "jobfile/configuration/configuration_loader.h"
#include "jobfile/job/key_check.h"
#include "jobfile/values/paths.h"
#include "os/files/files.h"
#include "os/files/folder_lock.h"
#include "storage/job_folder.h"
#include "storage/job_liveness.h"

namespace tony::client {
namespace {

namespace fs = std::filesystem;

constexpr char kKey[] = "tony.application.checkpoint-dir";
constexpr char kShared[] = "tony.application.checkpoint-dir-shared";

/// The folder's path; empty: the job names no folder of this machine.
std::string PathOf(const jobfile::LoadedJob& job) {
  const std::string& path = job.result.job.checkpoint_dir;
  return jobfile::UriScheme(path).empty() ? path : "";
}

jobfile::Problem ProblemWith(const jobfile::LoadedJob& job, const std::string& message,
                             const std::string& remedy) {
  return jobfile::ProblemAt(job.configuration, kKey, message, remedy);
}

jobfile::Problem NotWritable(const jobfile::LoadedJob& job, const std::string& path, int error) {
  return ProblemWith(
      job,
      absl::StrCat("checkpoints cannot be written there: ", os::ErrnoError(error, path).message()),
      "name a folder to which you may write, or give yourself the right to");
}

/// The newest part of `path` that exists.
fs::path ExistingPart(const fs::path& path) {
  std::error_code ignored;
  fs::path part = path;
  while (part.has_relative_path() && !fs::exists(fs::symlink_status(part, ignored))) {
    part = part.parent_path();
  }
  return part;
}

/// The job of this user that has the folder now; empty: none is found. The jobs of a user are few,
/// and only a refused submission looks for one.
std::string JobThatHas(const std::string& path, const std::string& local_dir) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(storage::JobsFolder(local_dir), error)) {
    const storage::JobFolder folder(entry.path().string());
    std::error_code ignored;
    if (!fs::exists(folder.job_xml(), ignored) || !storage::IsAlive(folder)) continue;
    jobfile::Sources sources;
    sources.job_file = folder.job_xml();
    const std::string its = jobfile::LoadConfiguration(sources).configuration.GetText(kKey);
    if (fs::equivalent(its, path, ignored)) return entry.path().filename().string();
  }
  return "";
}

jobfile::Problem InUse(const jobfile::LoadedJob& job, const std::string& path,
                       const std::string& holder) {
  const std::string other = JobThatHas(path, job.result.local.dir);
  const std::string end = other.empty() ? "wait for its end"
                                        : absl::StrCat("wait for it (tony wait ", other,
                                                       ") or end it (tony kill ", other, ")");
  return ProblemWith(job,
                     absl::StrCat(other.empty() ? holder : absl::StrCat("job ", other), " uses ",
                                  path, ", and two jobs would write over each other's checkpoints"),
                     absl::StrCat(end, ", name another folder, or set ", kShared, "=true"));
}

}  // namespace

std::optional<jobfile::Problem> CheckCheckpointFolder(const jobfile::LoadedJob& job) {
  const std::string path = PathOf(job);
  if (path.empty()) return std::nullopt;
  const fs::path existing = ExistingPart(path);
  std::error_code ignored;
  if (!fs::is_directory(existing, ignored)) {
    return ProblemWith(job, absl::StrCat(existing.string(), " is no folder"),
                       "name a folder, or remove what has its name");
  }
  // The server of a network file system answers for its own rules, for root too.
  if (faccessat(AT_FDCWD, existing.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return NotWritable(job, existing.string(), errno);
  }
  return std::nullopt;
}

CheckpointFolder ClaimCheckpointFolder(const jobfile::LoadedJob& job) {
  CheckpointFolder folder;
  const std::string path = PathOf(job);
  folder.problem = CheckCheckpointFolder(job);
  if (path.empty() || folder.problem) return folder;
  // Not os::MakeFolders(), whose modes are for tony's own files: a group may share checkpoints.
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    folder.problem = NotWritable(job, path, error.value());
    return folder;
  }
  if (job.configuration.GetBoolean(kShared)) return folder;
  absl::StatusOr<os::UniqueFd> lock = os::LockFolder(path);
  if (lock.ok()) {
    folder.lock = *std::move(lock);
  } else if (absl::IsAlreadyExists(lock.status())) {
    folder.problem = InUse(job, path, std::string(lock.status().message()));
  } else {
    folder.note = absl::StrCat(
        "note: the checkpoint folder cannot be locked, so that nothing keeps "
        "a second job out of it: ",
        lock.status().message());
  }
  return folder;
}

}  // namespace tony::client
