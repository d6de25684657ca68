// Reads a job's folder for the index: its summary, or its history if there is no summary.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "history/line_tail.h"
#include "history/stored_job.h"
#include "portal/index/job_index.h"

namespace tony::portal {

/// Not thread safe: owned by the indexer's thread.
class JobReader {
 public:
  /// Living jobs whose histories are read on from where the last reading ended. Others are read
  /// from the start each time they change.
  static constexpr size_t kMostTracked = 64;

  /// The present state of the files by which a change is noticed.
  static FileMark MarkOf(const storage::JobFolder& folder);

  /// Reads the job `job_id` of `location`. `mark`: MarkOf() its folder.
  ReadJob Read(const std::string& location, const std::string& job_id, const FileMark& mark);

  /// Whether the job lives: something may happen in it without a change of its files.
  static bool Lives(const std::string& location, const std::string& job_id);

 private:
  /// A living job and how far its history was read.
  struct Tracked {
    explicit Tracked(const storage::JobFolder& folder) : tail(folder.events()) {}

    history::StoredJob stored;
    history::LineTail tail;
    history::JobTraits traits;
    int lines = 0;
  };

  void ReadLiving(const storage::JobFolder& folder, const std::string& job_id, ReadJob& read);
  std::map<std::string, Tracked> tracked_;  ///< by the job's folder
};

}  // namespace tony::portal
