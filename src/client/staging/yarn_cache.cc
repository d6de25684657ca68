// Each cached file has an empty mark in the folder "used"; the mark's time is the file's last use.
// Files are named by their digests, so a removed file is simply copied again by the next job.
#include "client/staging/yarn_cache.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

constexpr char kMarks[] = "used";
/// A mark of a file that is in use is at most this old, because it is renewed only after this time.
constexpr std::chrono::days kMarkAge{1};
/// Longest time between a file's mark and its job's submission, in which the other files are
/// copied.
constexpr std::chrono::days kStagingTakes{1};

int64_t Millis(std::chrono::days days) { return std::chrono::milliseconds(days).count(); }

std::string MarkOf(const std::string& own) { return absl::StrCat(kMarks, "/", own); }

/// When the file `name` was written; 0 where there is no such file.
absl::StatusOr<int64_t> WrittenAt(const std::string& name, storage::JobFiles& files) {
  const absl::StatusOr<storage::StoredFile> stored = files.Describe(name);
  if (absl::IsNotFound(stored.status())) return 0;
  TONY_RETURN_IF_ERROR(stored.status());
  return stored->modified_millis;
}

/// Whether `own` is ".tony-" and a number, or ".tony-" and the letters of a temporary file.
bool IsOwnUnfinished(const std::string& own) {
  const size_t dash = own.find('-');
  return dash != std::string::npos &&
         std::all_of(own.begin() + static_cast<long>(dash) + 1, own.end(), absl::ascii_isalnum);
}

/// Removes incomplete files of clients that were killed, until `stop` is requested.
absl::StatusOr<int> RemoveCutOff(storage::JobFiles& files, const Clock& clock,
                                 const std::stop_token& stop) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        files.ListUnfinished(backend::kCacheFolder));
  int removed = 0;
  for (const std::string& own : names) {
    if (stop.stop_requested()) break;
    if (!IsOwnUnfinished(own)) continue;
    const std::string name = absl::StrCat(backend::kCacheFolder, "/", own);
    TONY_ASSIGN_OR_RETURN(const int64_t written, WrittenAt(name, files));
    if (clock.UnixMillis() - written < Millis(kStagingTakes)) continue;
    TONY_RETURN_IF_ERROR(files.Remove(name));
    ++removed;
  }
  return removed;
}

}  // namespace

absl::Status MarkUsed(const std::string& name, storage::JobFiles& files, const Clock& clock) {
  const std::string mark = MarkOf(name.substr(name.rfind('/') + 1));
  TONY_ASSIGN_OR_RETURN(const int64_t marked, WrittenAt(mark, files));
  if (clock.UnixMillis() - marked < Millis(kMarkAge)) return absl::OkStatus();
  return files.Replace(mark, "");
}

absl::StatusOr<int> RemoveUnusedFromCache(const backend::YarnCluster& cluster, const Clock& clock,
                                          std::chrono::days unused_for,
                                          const std::stop_token& stop) {
  if (unused_for.count() <= 0 || stop.stop_requested()) return 0;
  backend::ApplicationClient client(cluster.application_client(), cluster.timeout());
  TONY_ASSIGN_OR_RETURN(const std::vector<backend::ApplicationReport> reports,
                        client.List(cluster.user()));
  // A mark may be kMarkAge old when its file is used, and kStagingTakes older than the job's
  // submission. Both are subtracted, so that no file in use is removed.
  int64_t latest = clock.UnixMillis() - Millis(unused_for + kMarkAge + kStagingTakes);
  for (const backend::ApplicationReport& report : reports) {
    if (report.over()) continue;
    latest = std::min(latest, report.submitted_millis - Millis(kMarkAge + kStagingTakes));
  }
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  TONY_ASSIGN_OR_RETURN(int removed, RemoveCutOff(*files, clock, stop));
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(backend::kCacheFolder));
  for (const std::string& own : names) {
    if (stop.stop_requested()) break;
    if (!backend::IsCachedFile(own)) continue;
    TONY_ASSIGN_OR_RETURN(const int64_t marked, WrittenAt(MarkOf(own), *files));
    if (marked > latest) continue;
    const std::string name = absl::StrCat(backend::kCacheFolder, "/", own);
    // The client that copied the file may not have marked it, so the file's own time counts, too.
    TONY_ASSIGN_OR_RETURN(const int64_t written, WrittenAt(name, *files));
    if (written > latest) continue;
    TONY_RETURN_IF_ERROR(files->Remove(name));
    TONY_RETURN_IF_ERROR(files->Remove(MarkOf(own)));
    ++removed;
  }
  return removed;
}

}  // namespace tony::client
