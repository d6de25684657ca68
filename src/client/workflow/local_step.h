// The folder of a step on this machine, and its lock (docs/design/steps.md).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"

namespace tony::client {

/// The record of a step. Plain data.
struct StepRecord {
  std::string key;
  std::string system;       ///< azkaban, airflow, …; empty: the key was given
  std::string job;          ///< the id of the last job; empty: there was none
  int attempts = 0;         ///< how often the step was begun
  int64_t used_millis = 0;  ///< Unix time of the last attempt
};

/// One step of this user. Not thread safe.
class LocalStep {
 public:
  /// Opens the step's folder below `local_dir`, which is made when it is missing. The codes of
  /// OpenLocalFolder().
  static absl::StatusOr<LocalStep> Open(const std::string& local_dir, const std::string& key);
  /// All steps whose records can be read, the last used first. Codes as for Open().
  static absl::StatusOr<std::vector<LocalStep>> List(const std::string& local_dir);

  /// Removes steps that were not used for `days`, unless somebody has them, or they hold
  /// checkpoints of a job that has not succeeded. 0 or less: no step is too old.
  static void RemoveOld(const std::string& local_dir, int days, int64_t now_unix_millis);

  /// Takes the step for as long as the descriptor, or one inherited from it, is open.
  /// AlreadyExists – somebody has it. Errno codes.
  absl::StatusOr<os::UniqueFd> Lock();
  bool IsLocked() const;
  /// An empty record: nothing was written yet. DataLoss – the file is no record; the message names
  /// it.
  absl::StatusOr<StepRecord> Read() const;
  /// To be called by the holder of the lock. Errno codes.
  absl::Status Write(const StepRecord& record) const;

  /// Whether an attempt has ended with the verdict of `job`.
  bool IsReported(const std::string& job) const;
  /// Errno codes.
  absl::Status MarkReported(const std::string& job) const;

  /// The checkpoint folder of a job that names none.
  std::string checkpoints() const { return folder_.PathOf("checkpoints"); }
  /// To be called by the holder of the lock. Errno codes.
  absl::Status RemoveCheckpoints() const;
  /// Removes the folder. To be called by the holder of the lock. Errno codes.
  absl::Status Remove() const;

  const std::string& path() const { return folder_.path(); }

 private:
  LocalStep(std::string local_dir, std::string digest, os::FolderHandle folder)
      : local_dir_(std::move(local_dir)), digest_(std::move(digest)), folder_(std::move(folder)) {}
  static absl::StatusOr<LocalStep> OpenDigest(const std::string& local_dir,
                                              const std::string& digest);

  std::string local_dir_;
  std::string digest_;
  os::FolderHandle folder_;
};

}  // namespace tony::client
