// The folders are listed here; what one of them says is read by history/stored_job.h.
#include "client/jobs/job_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/choose_job.h"
#include "common/status_macros.h"

namespace tony::client {

absl::StatusOr<std::vector<std::string>> JobStore::Ids() const {
  const std::string jobs = storage::JobsFolder(local_dir_);
  std::error_code error;
  std::filesystem::directory_iterator folder(jobs, error);
  if (error == std::errc::no_such_file_or_directory) return std::vector<std::string>();
  std::vector<std::pair<int64_t, std::string>> found;
  while (!error && folder != std::filesystem::directory_iterator()) {
    // A folder with a dot in front is being made and is no job yet.
    const std::string id = folder->path().filename().string();
    std::error_code ignored;
    if (id[0] != '.' && folder->is_directory(ignored)) {
      found.emplace_back(history::SubmittedMillis(storage::JobFolder(folder->path().string())), id);
    }
    folder.increment(error);
  }
  if (error) {
    const std::string message = absl::StrCat("cannot read ", jobs, ": ", error.message());
    return error == std::errc::permission_denied ? absl::PermissionDeniedError(message)
                                                 : absl::UnavailableError(message);
  }
  std::sort(found.rbegin(), found.rend());
  std::vector<std::string> ids;
  for (auto& [millis, id] : found) ids.push_back(std::move(id));
  return ids;
}

absl::StatusOr<std::vector<StoredJob>> JobStore::List() const {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids());
  std::vector<StoredJob> jobs;
  for (const std::string& id : ids) {
    absl::StatusOr<StoredJob> job = Read(id);
    if (job.ok()) jobs.push_back(*std::move(job));  // else the job was removed meanwhile
  }
  return jobs;
}

absl::StatusOr<StoredJob> JobStore::Find(const std::string& wish) const {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, Ids());
  TONY_ASSIGN_OR_RETURN(
      const std::string id,
      ChooseJob(ids, wish, absl::StrCat("under ", storage::JobsFolder(local_dir_))));
  return Read(id);
}

absl::StatusOr<StoredJob> JobStore::Read(const std::string& id) const {
  return history::ReadStoredJob(
      storage::JobFolder(absl::StrCat(storage::JobsFolder(local_dir_), "/", id)), id);
}

}  // namespace tony::client
