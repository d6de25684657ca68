// Which jobs of the index are wanted, and in which order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "portal/index/indexed_job.h"

namespace tony::portal {

/// Plain data. An empty filter lets everything pass.
struct JobWish {
  std::vector<std::string> states;
  std::string user, queue, framework, name;
  std::optional<bool> alive;
  /// Words that are all parts of what the job is called, whose it is or why it ended; in any case.
  std::string text;
  int64_t since_millis = 0;  ///< submitted then or later
  int64_t until_millis = 0;  ///< submitted before; 0: no limit
  /// A name of SortNames(); with '-' in front from the largest on.
  std::string sort = "-submitted";
  size_t limit = 50;
  std::string cursor;  ///< the `next` of the page before; empty: the first page
};

/// Plain data.
struct JobPage {
  std::vector<IndexedJob> jobs;
  std::string next;  ///< empty: these are the last ones
};

/// "submitted", "duration", …
std::vector<std::string> SortNames();

/// A place in the order of `sort`: behind a job. Plain data.
struct Cursor {
  std::string sort;
  bool is_text = false;
  int64_t number = 0;  ///< the value that the jobs are sorted by
  std::string text;    ///< likewise
  int64_t submitted_millis = 0;
  int64_t id = 0;
};

/// Letters, digits, '_' and '-' only.
std::string CursorToText(const Cursor& cursor);
/// InvalidArgument – the text is no cursor.
absl::StatusOr<Cursor> CursorFromText(const std::string& text);

}  // namespace tony::portal
