// A merge first makes the large file and then removes the small ones, so readers may see both, or
// may miss a file that they have just listed. Both cases are handled here.
#include "storage/archived_events.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace tony::storage {
namespace {

std::string EventsOf(const std::string& folder) {
  return folder.empty() ? kEventFolder : absl::StrCat(folder, "/", kEventFolder);
}

absl::StatusOr<std::string> ReadOnce(JobFiles& files, const std::string& folder) {
  TONY_ASSIGN_OR_RETURN(const EventFiles listed, ListEventFiles(files, folder));
  std::string lines;
  for (const EventFile& file : listed.kept) {
    TONY_ASSIGN_OR_RETURN(const std::string part,
                          files.Read(absl::StrCat(EventsOf(folder), "/", file.name)));
    lines += part;
  }
  return lines;
}

}  // namespace

EventFile EventFile::Of(int first, int last) {
  char name[48];
  if (first == last) {
    std::snprintf(name, sizeof name, "%08d.jsonl", first);
  } else {
    std::snprintf(name, sizeof name, "%08d-%08d.jsonl", first, last);
  }
  return {first, last, name};
}

EventFile EventFile::Parse(const std::string& name) {
  const std::string numbers = name.substr(0, name.find('.'));
  const size_t dash = numbers.find('-');
  int first = 0;
  int last = 0;
  if (!absl::SimpleAtoi(numbers.substr(0, dash), &first) || first < 1) return {0, 0, name};
  if (dash == std::string::npos) return {first, first, name};
  if (!absl::SimpleAtoi(numbers.substr(dash + 1), &last) || last < first) return {0, 0, name};
  return {first, last, name};
}

absl::StatusOr<EventFiles> ListEventFiles(JobFiles& files, const std::string& folder) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(EventsOf(folder)));
  std::vector<EventFile> all;
  for (const std::string& name : names) all.push_back(EventFile::Parse(name));
  std::stable_sort(all.begin(), all.end(), [](const EventFile& one, const EventFile& other) {
    return std::make_pair(one.first, -one.last) < std::make_pair(other.first, -other.last);
  });
  // A merged file's parts may not be removed yet. A larger range sorts before a smaller one with
  // the same start, so parts of it are recognized by their last number.
  EventFiles listed;
  int seen = 0;
  for (EventFile& file : all) {
    const bool covered = file.first != 0 && file.last <= seen;
    if (file.first == 0) LogDebug("a stray file among the archived events", {{"name", file.name}});
    seen = std::max(seen, file.last);
    (covered ? listed.covered : listed.kept).push_back(std::move(file));
  }
  return listed;
}

absl::StatusOr<std::string> ReadArchivedEvents(JobFiles& files, const std::string& folder) {
  return ReadWhileMerging([&] { return ReadOnce(files, folder); });
}

}  // namespace tony::storage
