// A history itself is an Avro file of events, which say less than this portal's pages show.
#include "portal/index/tony_history.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "os/files/folder_trust.h"
#include "portal/index/job_place.h"

namespace tony::portal {
namespace {

namespace fs = std::filesystem;

constexpr int kDepth = 5;
/// Behind it milliseconds cannot be told from garbage: the year 5138.
constexpr int64_t kLatestMillis = 100'000'000'000'000;

bool ReadMillis(const std::string& text, int64_t& millis) {
  return absl::SimpleAtoi(text, &millis) && millis > 0 && millis < kLatestMillis;
}

ReadJob JobOf(const std::string& folder, history::JobEntry entry, const struct stat& status) {
  ReadJob read;
  read.job.location = folder;
  read.job.trouble = entry.ended_millis == 0 ? kTonyHistoryWithoutEnd : kTonyHistory;
  if (entry.ended_millis >= std::max<int64_t>(1, entry.submitted_millis)) {
    read.job.duration_millis = entry.ended_millis - entry.submitted_millis;
  }
  // TonY renames the file at the end, which changes nothing else of it.
  read.mark.summary_time = entry.ended_millis;
  read.job.entry = std::move(entry);
  read.mark.events_bytes = status.st_size;
  read.mark.events_time = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  read.mark.events_inode = static_cast<int64_t>(status.st_ino);
  return read;
}

}  // namespace

std::optional<history::JobEntry> EntryOfHistoryName(absl::string_view name) {
  const bool running = absl::ConsumeSuffix(&name, ".jhist.inprogress");
  if (!running && !absl::ConsumeSuffix(&name, ".jhist")) return std::nullopt;
  std::vector<std::string> parts = absl::StrSplit(name, '-');
  history::JobEntry entry;
  entry.state = "RUNNING";
  if (!running) {
    if (parts.size() < 5) return std::nullopt;
    entry.state = parts.back();
    parts.pop_back();
    if (entry.state != "SUCCEEDED" && entry.state != "FAILED" && entry.state != "KILLED") {
      return std::nullopt;
    }
  }
  const size_t times = running ? 1 : 2;
  if (parts.size() < times + 2) return std::nullopt;
  entry.job_id = parts[0];
  if (!IsJobName(entry.job_id) || !ReadMillis(parts[1], entry.submitted_millis) ||
      (!running && !ReadMillis(parts[2], entry.ended_millis))) {
    return std::nullopt;
  }
  entry.started_millis = entry.submitted_millis;
  entry.backend = "yarn";
  entry.user = ToUtf8(absl::StrJoin(parts.begin() + 1 + static_cast<int>(times), parts.end(), "-"));
  if (entry.user.empty()) return std::nullopt;
  return entry;
}

absl::StatusOr<std::map<std::string, ReadJob>> FindHistories(const std::string& folder) {
  TONY_RETURN_IF_ERROR(os::OpenOwnFolder(folder).status());
  std::map<std::string, ReadJob> found;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry.depth() >= kDepth) entry.disable_recursion_pending();
    const std::string path = entry->path().string();
    std::optional<history::JobEntry> job = EntryOfHistoryName(entry->path().filename().string());
    struct stat status {};
    if (!job || ::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const auto known = found.find(job->job_id);
    if (known != found.end() && known->second.job.entry.ended_millis != 0) continue;
    if (found.size() >= kMostHistories && known == found.end()) break;
    const std::string id = job->job_id;
    found.insert_or_assign(id, JobOf(folder, *std::move(job), status));
  }
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot read ", folder, ": ", error.message()));
  }
  return found;
}

}  // namespace tony::portal
