// Real job folders below a temporary folder, as an ApplicationMaster would write them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "os/files/file_lock.h"
#include "os/files/unique_fd.h"
#include "rpc/convert/event_json.h"
#include "storage/job_folder.h"
#include "tests/client/sample_events.h"

namespace tony::client {

/// A folder of the test's own, removed at the end. Not thread safe.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(::testing::TempDir() + "client_test_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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

/// Appends to a log, making its folders.
inline void AppendLog(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::app | std::ios::binary) << text;
}

}  // namespace tony::client
