// Stores a job's events on storage where files cannot grow.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/job_files.h"

namespace tony::storage {

/// Folder of the event files "00000001.jsonl", "00000002.jsonl", …, which hold whole lines and
/// never change. Many small files are merged into one, "00000001-00000064.jsonl", with the same
/// lines; then they are removed.
inline constexpr char kEventFolder[] = "events";

/// File with the newest measurement of each running task, one line each in the form of an event's
/// line; replaced as a whole.
inline constexpr char kUsageFile[] = "usage.jsonl";

/// File with the job's metrics over its whole life; replaced as a whole.
inline constexpr char kMetricFile[] = "metrics.bin";

/// File with the job in a few lines (history/job_entry.h), written at its end. Its `events_bytes`
/// is 0: only who has read all event files knows their size.
inline constexpr char kSummaryFile[] = "summary.json";

/// File with the stacks of all tasks that were kept when the job seemed to hang, as a text. In a
/// job's folder on one machine it lies among the logs.
inline constexpr char kStacksFile[] = "stacks.txt";

/// File with the job's configuration as its page may show it: it lasts, so it has no secrets.
inline constexpr char kConfigurationFile[] = "job.xml";

/// A file of kEventFolder, described by its name. A plain value.
struct EventFile {
  int first = 0;  ///< number of the first file that is merged into it; 0: the name is not an event
                  ///< file's
  int last = 0;   ///< number of the last file that is merged into it
  std::string name;

  /// The name of the file that holds the lines of files `first` to `last`.
  static EventFile Of(int first, int last);
  static EventFile Parse(const std::string& name);
  bool merged() const { return first != last; }
};

/// The event files that a job has. A plain value.
struct EventFiles {
  std::vector<EventFile> kept;     ///< oldest first; together they hold each event once
  std::vector<EventFile> covered;  ///< not needed: a larger file holds all of their events
};

/// Lists the event files. `folder`: the job's folder in `files`, if `files` is not the job's own.
/// Codes of JobFiles.
absl::StatusOr<EventFiles> ListEventFiles(JobFiles& files, const std::string& folder = "");

/// Calls `read` again when a file is missing: it may have been merged into a larger one between its
/// listing and its reading. Returns the last result.
template <typename Read>
auto ReadWhileMerging(const Read& read) {
  constexpr int kTries = 5;
  auto result = read();
  for (int tries = 1; absl::IsNotFound(result.status()) && tries < kTries; ++tries) result = read();
  return result;
}

/// All recorded lines, oldest first; none where there is no such folder. Codes of JobFiles.
absl::StatusOr<std::string> ReadArchivedEvents(JobFiles& files, const std::string& folder = "");

}  // namespace tony::storage
