// Real job folders below a temporary folder, as an ApplicationMaster would write them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "os/files/file_lock.h"
#include "os/files/unique_fd.h"
#include "rpc/convert/event_json.h"
#include "storage/job_folder.h"
#include "tests/client/sample_events.h"
#include "tests/os/temporary_folder.h"

namespace tony::client {

using os::TemporaryFolder;

inline void AppendEvents(const storage::JobFolder& folder,
                         const std::vector<core::JobEvent>& events) {
  std::ofstream file(folder.events(), std::ios::app);
  for (const core::JobEvent& event : events) file << rpc::EventToJsonLine(event) << "\n";
}

/// The folder of job `id`, whose client is gone, with `events`; with any there is a free am.lock
/// too.
inline storage::JobFolder WriteJob(const std::string& local_dir, const std::string& id,
                                   const std::vector<core::JobEvent>& events) {
  storage::JobFolder folder(storage::JobsFolder(local_dir) + "/" + id);
  std::filesystem::create_directories(folder.logs());
  std::ofstream(folder.am_guard()).close();
  if (events.empty()) return folder;
  AppendEvents(folder, events);
  std::ofstream(folder.am_lock()).close();
  return folder;
}

/// Holds am.lock as a living ApplicationMaster does. Not thread safe.
class HeldLock {
 public:
  explicit HeldLock(const storage::JobFolder& folder)
      : fd_(os::LockFile(folder.am_lock()).value()) {}

 private:
  os::UniqueFd fd_;
};

/// Holds am.guard as a client does that stages or follows the job. Not thread safe.
class HeldGuard {
 public:
  explicit HeldGuard(const storage::JobFolder& folder)
      : fd_(os::LockFile(folder.am_guard()).value()) {}

 private:
  os::UniqueFd fd_;
};

}  // namespace tony::client
