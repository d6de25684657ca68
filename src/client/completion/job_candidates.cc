// Only names of folders, a lock, and the first line of a history are read. JobStore would replay
// whole histories, which takes too long for somebody who waits with a finger on the Tab key.
#include "client/completion/job_candidates.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <system_error>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/choose_job.h"
#include "core/model/master_task.h"
#include "core/model/task_id.h"
#include "core/model/task_path.h"
#include "core/record/job_event.h"
#include "history/recorded_events.h"
#include "storage/job_folder.h"
#include "storage/job_liveness.h"

namespace tony::client {
namespace {

/// Jobs that have a meaning, which costs two more files each.
constexpr size_t kJobsWithMeaning = 30;
/// Tasks that are offered before the user has typed a colon.
constexpr size_t kMostTasksAtOnce = 100;

/// Whether a shell takes `name` as it is. Names of jobs and tasks are such; other folders' names
/// could run a command once they are in the user's line.
bool IsPlain(const std::string& name) {
  return name[0] != '.' && std::all_of(name.begin(), name.end(), [](unsigned char letter) {
           return absl::ascii_isalnum(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

/// The plain names of the folders in `folder` in descending order: a job's name begins with the
/// time of its submission.
std::vector<std::string> FoldersIn(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (IsPlain(name) && entry->is_directory(ignored)) names.push_back(name);
    entry.increment(error);
  }
  std::sort(names.begin(), names.end(), std::greater<>());
  return names;
}

storage::JobFolder FolderOf(const std::string& local_dir, const std::string& id) {
  return storage::JobFolder(absl::StrCat(storage::JobsFolder(local_dir), "/", id));
}

bool IsWanted(const storage::JobFolder& folder, JobChoice choice) {
  return choice == JobChoice::kAll || storage::IsAlive(folder) == (choice == JobChoice::kRunning);
}

std::optional<core::JobSubmitted> SubmittedJob(const storage::JobFolder& folder) {
  std::optional<core::JobSubmitted> submitted;
  history::ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    if (!event.ok()) return false;
    if (const auto* body = std::get_if<core::JobSubmitted>(&event->body)) submitted = *body;
    return false;
  });
  return submitted;
}

std::string MeaningOf(const storage::JobFolder& folder) {
  const std::optional<core::JobSubmitted> submitted = SubmittedJob(folder);
  return absl::StrCat(submitted ? submitted->name : "", submitted ? ", " : "",
                      storage::IsAlive(folder) ? "running" : "over");
}

/// The names that begin with `word`, or else the only one that ends with it.
std::vector<std::string> Fitting(const std::vector<std::string>& names, const std::string& word) {
  std::vector<std::string> begin, end;
  for (const std::string& name : names) {
    if (absl::StartsWith(name, word)) begin.push_back(name);
    if (absl::EndsWith(name, word)) end.push_back(name);
  }
  if (begin.empty() && end.size() == 1) return end;
  return begin;
}

/// The tasks of a job: those with which it began, and those that have logs.
std::set<core::TaskId> TasksOf(const storage::JobFolder& folder) {
  std::set<core::TaskId> tasks;
  if (const std::optional<core::JobSubmitted> submitted = SubmittedJob(folder)) {
    for (const auto& type : submitted->types) {
      for (int index = 0; index < type.instances; ++index) tasks.insert({type.name, index});
    }
  }
  for (const std::string& name : FoldersIn(folder.logs())) {
    if (const std::optional<core::TaskId> task = core::TaskFromPath(name)) tasks.insert(*task);
  }
  return tasks;
}

}  // namespace

Candidates JobCandidates(const std::string& local_dir, const std::string& word, JobChoice choice) {
  Candidates candidates;
  for (const std::string& id : Fitting(FoldersIn(storage::JobsFolder(local_dir)), word)) {
    if (candidates.size() == kMostJobs) break;
    const storage::JobFolder folder = FolderOf(local_dir, id);
    if (!IsWanted(folder, choice)) continue;
    candidates.push_back({id, candidates.size() < kJobsWithMeaning ? MeaningOf(folder) : ""});
  }
  const std::string latest = "latest";
  const bool any = !candidates.empty() || !FoldersIn(storage::JobsFolder(local_dir)).empty();
  if (any && absl::StartsWith(latest, word)) candidates.push_back({latest, "the newest job"});
  return candidates;
}

Candidates TaskCandidates(const std::string& local_dir, const std::string& wish,
                          const std::string& word, bool only_tasks) {
  const auto id = ChooseJob(FoldersIn(storage::JobsFolder(local_dir)), wish, "here");
  if (!id.ok()) return {};
  const std::set<core::TaskId> tasks = TasksOf(FolderOf(local_dir, *id));
  Candidates candidates;
  if (!only_tasks) candidates.push_back({core::kMasterTaskType, "the ApplicationMaster"});
  const bool single = tasks.size() <= kMostTasksAtOnce || absl::StrContains(word, ":");
  std::string type;
  for (const core::TaskId& task : tasks) {
    if (!only_tasks && task.type != type) candidates.push_back({task.type, "all of this type"});
    type = task.type;
    if (single) candidates.push_back({task.ToString()});
  }
  return WithPrefix(candidates, word);
}

}  // namespace tony::client
