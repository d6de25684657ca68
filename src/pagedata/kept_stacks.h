// The stacks that were kept of a job's programs, which outlive the job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/worker.h"
#include "core/model/task_id.h"
#include "storage/job_folder.h"
#include "web/api/job_stacks.h"

namespace tony::pagedata {

/// Files of kept stacks are much smaller.
inline constexpr size_t kMostKeptBytes = size_t{32} << 20;

/// A file of stacks: of one attempt, kept by its executor before the program was ended, or of all
/// tasks, kept by the ApplicationMaster when the job seemed to hang. A plain value.
struct KeptStacksFile {
  std::string task;  ///< empty: all tasks
  int attempt = 0;   ///< 0: all tasks
  std::string path;
};

/// The file of all tasks in the job's folder; nothing: there is none.
std::optional<KeptStacksFile> FindStacksOfAll(const storage::JobFolder& folder);
/// The files of these tasks' attempts in the job's folder, task by task, the oldest attempt first.
/// Ends early, with what was found, when `stop` says so.
std::vector<KeptStacksFile> FindStacksOf(const storage::JobFolder& folder,
                                         const std::vector<core::TaskId>& tasks,
                                         const Worker::Stop& stop);

/// The first `most` bytes of the file `path`. FailedPrecondition – it is a link or no plain file,
/// as programs may write into that folder. Errno codes.
absl::StatusOr<std::string> ReadKeptStacks(const std::string& path, size_t most);

/// Reads them for a page, on a thread. Not thread safe: owned by the event loop.
class FolderKeptStacks : public web::KeptStacks {
 public:
  /// What a page gets at most; the rest is what `tony stacks` shows.
  static constexpr size_t kMostFiles = 32;
  static constexpr size_t kMostFileBytes = size_t{1} << 20;
  static constexpr size_t kMostBytes = size_t{2} << 20;

  /// `loop` must outlive this object.
  FolderKeptStacks(EventLoop& loop, storage::JobFolder folder)
      : folder_(std::move(folder)), worker_(loop) {}

  void Read(const core::JobView& view, Abandoned abandoned, Take take) override;

 private:
  const storage::JobFolder folder_;
  Worker worker_;
};

}  // namespace tony::pagedata
