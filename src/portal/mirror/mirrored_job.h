// The copy of one job whose files are in a cluster's file system.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/status.h"
#include "os/files/folder_handle.h"
#include "os/files/unique_fd.h"
#include "storage/archived_events.h"
#include "storage/job_files.h"
#include "storage/job_folder.h"

namespace tony::portal {

/// A folder like that of a job of this machine, which everything that reads such folders can show:
///
///   there                                    here
///   events/0000000N.jsonl                    events.jsonl
///   job.xml, metrics.bin, usage.jsonl        the same
///   stacks.txt                               the same
///   summary.json                             the same, with the size of events.jsonl
///   a living ApplicationMaster               am.lock, held by this object
///
/// The folder has a dot in front of its name until it is worth a look. Logs are copied by
/// MirroredLogs. Blocks for as long as the file system takes. Not thread safe.
class MirroredJob {
 public:
  /// A longer history is copied up to here only.
  static constexpr int64_t kMostEventBytes = int64_t{256} << 20;
  /// Longer kept stacks are not copied: an ApplicationMaster writes two texts of 4 MiB.
  static constexpr int64_t kMostStackBytes = int64_t{16} << 20;

  /// The job `id` in `jobs` of this machine. `jobs` and `files` must outlive this.
  MirroredJob(const os::FolderHandle& jobs, storage::JobFiles& files, std::string id);

  /// Whether `folder` is the copy of a job that is over, with nothing left to copy.
  static bool IsComplete(const storage::JobFolder& folder);
  /// Whether the history of such a copy was too long, and ends early.
  static bool IsCut(const storage::JobFolder& folder);

  /// Copies what has changed. `over`: nothing can happen to the job any more. Cancelled – `stop`
  /// was requested between two files; the next call goes on from there. Otherwise the codes of
  /// storage::JobFiles; errno codes of this machine's files.
  absl::Status Update(bool over, const std::stop_token& stop);

  /// Nothing is left to copy, now or by an earlier process: the job is over.
  bool complete() const { return complete_; }
  /// Its last event was copied.
  bool ended() const { return ended_; }
  /// How much of this machine's disk it takes.
  int64_t bytes() const;

 private:
  std::string There(const std::string& name) const;
  /// Makes the folder under its unfinished name, or opens the one that an earlier process left.
  absl::Status OpenFolder();
  absl::Status Hold();
  absl::Status CopyEvents(const std::stop_token& stop);
  /// The new lines of an event file.
  absl::StatusOr<std::string> NewLines(const storage::EventFile& file);
  absl::Status AddEvents(const std::string& lines);
  /// Where events are added: beside the history until that is whole.
  std::string EventsPath() const;
  std::string StacksPath() const;
  /// Replaces `here` by the file `name` there, unless `time`, that of the last copy, is still its
  /// own. A file of more than `most` bytes is left out.
  absl::Status CopyIfNew(const std::string& name, const std::string& here, int64_t most,
                         std::optional<int64_t>& time);
  absl::Status CopyUsage();
  absl::Status CopyConfiguration();
  /// Whether there was a summary.
  absl::StatusOr<bool> CopySummary();
  absl::Status Show();

  const os::FolderHandle& jobs_;
  storage::JobFiles& files_;
  const std::string id_;
  storage::JobFolder folder_;
  bool opened_ = false;
  bool shown_ = false;  ///< the folder has its name
  bool complete_ = false;
  bool ended_ = false;
  bool cut_ = false;  ///< the history was too long
  bool has_configuration_ = false;
  bool begun_ = false;      ///< the file at EventsPath() is this object's, from its first line on
  bool caught_up_ = false;  ///< events.jsonl is this object's
  int last_file_ = 0;       ///< number of the last event file that was copied
  int64_t last_sequence_ = 0;
  int64_t event_bytes_ = 0;
  std::optional<int64_t> metrics_time_, stacks_time_;
  std::string usage_;
  os::UniqueFd lock_;
};

}  // namespace tony::portal
