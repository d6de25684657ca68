// Serves logs that lie in the job's folder on this machine.
#pragma once

#include "storage/job_folder.h"
#include "web/log_source.h"

namespace tony::pagedata {

/// Reads the files that executors on this machine write. Not thread safe: owned by the event loop.
class FolderLogs : public web::LogSource {
 public:
  explicit FolderLogs(storage::JobFolder folder) : folder_(std::move(folder)) {}

  void ReadTail(const core::TaskId& task, int attempt, Stream stream, size_t most,
                Take take) override;

 private:
  const storage::JobFolder folder_;
};

/// The last bytes of the log whose first segment is `path`, at most `most` bytes. NotFound – there
/// is no such log. Otherwise errno codes. Thread safe.
absl::StatusOr<web::LogTail> ReadLogTail(const std::string& path, size_t most);

}  // namespace tony::pagedata
