// The record is replaced by the lock's holder only. That a verdict was reported is a file of its
// own, because an attempt reports when it no longer holds the lock.
#include "client/workflow/local_step.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/local_folder.h"
#include "client/workflow/step_key.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"

namespace tony::client {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSteps[] = "steps";
constexpr char kLock[] = "lock";
constexpr char kRecord[] = "step.json";
constexpr char kReported[] = "reported-";
/// How often a folder may be removed while it is being opened.
constexpr int kMostTries = 100;

bool IsRemoved(const os::UniqueFd& file) {
  struct stat info {};
  return fstat(file.get(), &info) != 0 || info.st_nlink == 0;
}

}  // namespace

absl::StatusOr<LocalStep> LocalStep::Open(const std::string& local_dir, const std::string& key) {
  TONY_ASSIGN_OR_RETURN(const std::string digest, StepDigest(key));
  return OpenDigest(local_dir, digest);
}

absl::StatusOr<LocalStep> LocalStep::OpenDigest(const std::string& local_dir,
                                                const std::string& digest) {
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle root, OpenLocalFolder(local_dir));
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle steps, root.OpenOrMake(kSteps));
  TONY_ASSIGN_OR_RETURN(os::FolderHandle folder, steps.OpenOrMake(digest));
  return LocalStep(local_dir, digest, std::move(folder));
}

absl::StatusOr<std::vector<LocalStep>> LocalStep::List(const std::string& local_dir) {
  std::vector<LocalStep> steps;
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle root, OpenLocalFolder(local_dir));
  TONY_ASSIGN_OR_RETURN(const os::FolderHandle folder, root.OpenOrMake(kSteps));
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, folder.List());
  std::vector<std::pair<int64_t, size_t>> order;
  for (const std::string& name : names) {
    absl::StatusOr<os::FolderHandle> opened = folder.Open(name);
    if (!opened.ok()) continue;
    LocalStep step(local_dir, name, *std::move(opened));
    const absl::StatusOr<StepRecord> record = step.Read();
    if (!record.ok() || record->key.empty()) continue;
    order.emplace_back(-record->used_millis, steps.size());
    steps.push_back(std::move(step));
  }
  std::sort(order.begin(), order.end());
  std::vector<LocalStep> sorted;
  sorted.reserve(steps.size());
  for (const auto& [used, index] : order) sorted.push_back(std::move(steps[index]));
  return sorted;
}

void LocalStep::RemoveOld(const std::string& local_dir, int days, int64_t now_unix_millis) {
  absl::StatusOr<std::vector<LocalStep>> steps = List(local_dir);
  if (days <= 0 || !steps.ok()) return;
  const int64_t oldest =
      now_unix_millis - std::chrono::milliseconds(std::chrono::days(days)).count();
  for (LocalStep& step : *steps) {
    const absl::StatusOr<StepRecord> record = step.Read();
    if (!record.ok() || record->used_millis >= oldest) continue;
    std::error_code ignored;
    const bool has_work = std::filesystem::exists(step.checkpoints(), ignored) &&
                          !std::filesystem::is_empty(step.checkpoints(), ignored);
    // Checkpoints are work, not history. What was left of a reported success is not.
    if (has_work && !step.IsReported(record->job)) continue;
    const absl::StatusOr<os::UniqueFd> lock = step.Lock();
    if (!lock.ok()) continue;
    const absl::Status removed = step.Remove();
    if (!removed.ok()) LogWarning("an old step stays", {{"why", removed.message()}});
  }
}

absl::StatusOr<os::UniqueFd> LocalStep::Lock() {
  // Whoever removes the folder holds its lock. A lock on a file that was removed meanwhile keeps
  // nobody out, so the folder is opened again then.
  for (int i = 0; i < kMostTries; ++i) {
    absl::StatusOr<os::UniqueFd> lock = os::LockFile(folder_, kLock);
    if (lock.ok() && !IsRemoved(*lock)) return lock;
    if (!lock.ok() && !absl::IsNotFound(lock.status())) return lock;
    TONY_ASSIGN_OR_RETURN(LocalStep again, OpenDigest(local_dir_, digest_));
    folder_ = std::move(again.folder_);
  }
  return absl::UnavailableError(absl::StrCat(path(), " is removed again and again"));
}

bool LocalStep::IsLocked() const { return os::IsFileLocked(folder_.PathOf(kLock)); }

absl::StatusOr<StepRecord> LocalStep::Read() const {
  const std::string path = folder_.PathOf(kRecord);
  const absl::StatusOr<std::string> text = os::ReadFile(path);
  if (absl::IsNotFound(text.status())) return StepRecord{};
  TONY_RETURN_IF_ERROR(text.status());
  const Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  StepRecord record;
  try {
    record.key = json.at("key").get<std::string>();
    record.system = json.at("system").get<std::string>();
    record.job = json.at("job").get<std::string>();
    record.attempts = json.at("attempts").get<int>();
    record.used_millis = json.at("used_millis").get<int64_t>();
  } catch (const Json::exception&) {
    return absl::DataLossError(
        absl::StrCat(path, " is no record of a step; if no job of the step runs, remove the file"));
  }
  return record;
}

absl::Status LocalStep::Write(const StepRecord& record) const {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, folder_.List());
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, kReported) || name == absl::StrCat(kReported, record.job)) continue;
    (void)unlinkat(folder_.fd(), name.c_str(), 0);
  }
  const Json json = {
      {"version", 1},      {"key", record.key},           {"system", record.system},
      {"job", record.job}, {"attempts", record.attempts}, {"used_millis", record.used_millis}};
  return folder_.ReplaceFile(
      kRecord, absl::StrCat(json.dump(2, ' ', false, Json::error_handler_t::replace), "\n"));
}

bool LocalStep::IsReported(const std::string& job) const {
  return folder_.HasOwnFile(absl::StrCat(kReported, job));
}

absl::Status LocalStep::MarkReported(const std::string& job) const {
  return folder_.ReplaceFile(absl::StrCat(kReported, job), "");
}

absl::Status LocalStep::RemoveCheckpoints() const { return os::RemoveTree(checkpoints()); }

absl::Status LocalStep::Remove() const { return os::RemoveTree(path()); }

}  // namespace tony::client
