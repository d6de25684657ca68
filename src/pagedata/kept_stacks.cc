// Two places are looked at for the stacks of all tasks: the logs of a job on this machine, and the
// folder itself of a job whose records were copied from a cluster's file system.
#include "pagedata/kept_stacks.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "history/record_file.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "storage/archived_events.h"

namespace tony::pagedata {
namespace {

namespace fs = std::filesystem;

constexpr char kAttempt[] = "attempt-";

bool IsPlainFile(const std::string& path) {
  std::error_code missing;
  return fs::is_regular_file(fs::symlink_status(path, missing));
}

/// Adds those of the task's attempts.
void AddOfTask(const storage::JobFolder& folder, const core::TaskId& task,
               std::vector<KeptStacksFile>& kept) {
  const size_t begin = kept.size();
  std::error_code error;
  for (fs::directory_iterator each(folder.task_logs(task), error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    const std::string path = (each->path() / storage::kStacksFile).string();
    int attempt = 0;
    if (absl::StartsWith(name, kAttempt) &&
        absl::SimpleAtoi(name.substr(sizeof kAttempt - 1), &attempt) && IsPlainFile(path)) {
      kept.push_back({task.ToString(), attempt, path});
    }
  }
  std::sort(kept.begin() + static_cast<std::ptrdiff_t>(begin), kept.end(),
            [](const KeptStacksFile& a, const KeptStacksFile& b) { return a.attempt < b.attempt; });
}

/// The text up to its last whole line, so that a page does not end in half a letter.
std::string WholeLines(const std::string& text) { return text.substr(0, text.rfind('\n') + 1); }

web::KeptStacksPage ReadPage(const std::vector<KeptStacksFile>& files, const Worker::Stop& stop) {
  web::KeptStacksPage page;
  size_t room = FolderKeptStacks::kMostBytes;
  for (const KeptStacksFile& file : files) {
    if (page.texts.size() >= FolderKeptStacks::kMostFiles || room == 0 || stop()) {
      ++page.left_out;
      continue;
    }
    const size_t most = std::min(room, FolderKeptStacks::kMostFileBytes);
    absl::StatusOr<std::string> text = ReadKeptStacks(file.path, most + 1);
    const bool cut = text.ok() && text->size() > most;
    if (cut) *text = WholeLines(text->substr(0, most));
    if (!text.ok()) LogDebug("kept stacks are not shown", {{"why", text.status().message()}});
    if (!text.ok() || (cut && text->empty())) {
      ++page.left_out;
      continue;
    }
    room -= std::min(room, text->size());
    page.texts.push_back({file.task, file.attempt, SafeLines(*text), cut});
  }
  return page;
}

}  // namespace

std::optional<KeptStacksFile> FindStacksOfAll(const storage::JobFolder& folder) {
  for (const std::string& place : {folder.logs(), folder.root()}) {
    std::string path = absl::StrCat(place, "/", storage::kStacksFile);
    if (IsPlainFile(path)) return KeptStacksFile{"", 0, std::move(path)};
  }
  return std::nullopt;
}

std::vector<KeptStacksFile> FindStacksOf(const storage::JobFolder& folder,
                                         const std::vector<core::TaskId>& tasks,
                                         const Worker::Stop& stop) {
  std::vector<KeptStacksFile> kept;
  for (const core::TaskId& task : tasks) {
    if (stop()) break;
    AddOfTask(folder, task, kept);
  }
  return kept;
}

// Neither a link nor a pipe may be followed or waited for: see the header.
absl::StatusOr<std::string> ReadKeptStacks(const std::string& path, size_t most) {
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd file, history::OpenRecordFile(path));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return os::ErrnoError(errno, path);
  std::string text(std::min(most, static_cast<size_t>(info.st_size)), '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return os::ErrnoError(errno, path);
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  text.resize(size);
  return text;
}

void FolderKeptStacks::Read(const core::JobView& view, Abandoned abandoned, Take take) {
  std::vector<core::TaskId> tasks;
  tasks.reserve(view.tasks.size());
  for (const core::JobView::Task& task : view.tasks) tasks.push_back(task.last.task);
  worker_.Run<web::KeptStacksPage>(
      std::move(abandoned),
      [folder = folder_,
       tasks = std::move(tasks)](const Worker::Stop& stop) -> absl::StatusOr<web::KeptStacksPage> {
        std::vector<KeptStacksFile> files = FindStacksOf(folder, tasks, stop);
        if (auto of_all = FindStacksOfAll(folder)) files.insert(files.begin(), *std::move(of_all));
        return ReadPage(files, stop);
      },
      std::move(take));
}

}  // namespace tony::pagedata
