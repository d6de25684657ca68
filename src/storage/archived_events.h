// A job's events as they are kept on storage where files do not grow.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/job_files.h"

namespace tony::storage {

/// Of files "00000001.jsonl", "00000002.jsonl", …, whole lines each, which never change. Many small
/// ones become one, "00000001-00000064.jsonl", which has the same lines; then they are removed.
inline constexpr char kEventFolder[] = "events";

/// The newest measurement of each running task, one line each like an event's; replaced as a whole.
inline constexpr char kUsageFile[] = "usage.jsonl";

/// A file of kEventFolder, by its name. A plain value.
struct EventFile {
  int first = 0;  ///< number of the first file that it was made of; 0: the name is none of ours
  int last = 0;   ///< and of the last one
  std::string name;

  /// Of the file that has the lines of files `first` to `last`.
  static EventFile Of(int first, int last);
  static EventFile Parse(const std::string& name);
  bool merged() const { return first != last; }
};

/// The files of events that a job has. A plain value.
struct EventFiles {
  std::vector<EventFile> kept;     ///< oldest first; of each event one
  std::vector<EventFile> covered;  ///< not needed: a larger one has everything
};

/// `folder`: of the job in `files`, where they are not the job's own. Codes of JobFiles.
absl::StatusOr<EventFiles> ListEventFiles(JobFiles& files, const std::string& folder = "");

/// Calls `read` again where a file is missing, which may have gone into a larger one between its
/// listing and its reading; returns what it returned last.
template <typename Read>
auto ReadWhileMerging(const Read& read) {
  constexpr int kTries = 5;
  auto result = read();
  for (int tries = 1; absl::IsNotFound(result.status()) && tries < kTries; ++tries) result = read();
  return result;
}

/// All lines that are kept, oldest first; none where there is no such folder. Codes of JobFiles.
absl::StatusOr<std::string> ReadArchivedEvents(JobFiles& files, const std::string& folder = "");

}  // namespace tony::storage
