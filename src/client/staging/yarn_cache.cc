// A mark for each file of the cache.
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
/// A mark is as old as this at most when its file is used.
constexpr std::chrono::days kMarkAge{1};
/// Between a file's mark and its job's submission: the upload of the others.
constexpr std::chrono::days kStagingTakes{1};

int64_t Millis(std::chrono::days days) { return std::chrono::milliseconds(days).count(); }

std::string MarkOf(const std::string& own) { return absl::StrCat(kMarks, "/", own); }

/// When it was written, or 0 where there is no such file.
absl::StatusOr<int64_t> WrittenAt(const std::string& name, storage::JobFiles& files) {
  const absl::StatusOr<storage::StoredFile> stored = files.Describe(name);
  if (absl::IsNotFound(stored.status())) return 0;
  TONY_RETURN_IF_ERROR(stored.status());
  return stored->modified_millis;
}

/// ".tony-" and a number, or the letters of a temporary file.
bool IsOwnUnfinished(const std::string& own) {
  const size_t dash = own.find('-');
  return dash != std::string::npos &&
         std::all_of(own.begin() + static_cast<long>(dash) + 1, own.end(), absl::ascii_isalnum);
}

/// Of clients that were killed.
absl::StatusOr<int> RemoveCutOff(storage::JobFiles& files, const Clock& clock) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                        files.ListUnfinished(backend::kCacheFolder));
  int removed = 0;
  for (const std::string& own : names) {
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
  // What is used is not marked anew each time, nor before it is used.
  int64_t latest = clock.UnixMillis() - Millis(unused_for + kMarkAge + kStagingTakes);
  for (const backend::ApplicationReport& report : reports) {
    if (report.over()) continue;
    latest = std::min(latest, report.submitted_millis - Millis(kMarkAge + kStagingTakes));
  }
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<storage::JobFiles> files, cluster.OpenStaging());
  TONY_ASSIGN_OR_RETURN(int removed, RemoveCutOff(*files, clock));
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> names, files->List(backend::kCacheFolder));
  for (const std::string& own : names) {
    if (stop.stop_requested()) break;
    if (!backend::IsCachedFile(own)) continue;
    TONY_ASSIGN_OR_RETURN(const int64_t marked, WrittenAt(MarkOf(own), *files));
    if (marked > latest) continue;
    const std::string name = absl::StrCat(backend::kCacheFolder, "/", own);
    // Whoever has put it there may not have marked it.
    TONY_ASSIGN_OR_RETURN(const int64_t written, WrittenAt(name, *files));
    if (written > latest) continue;
    TONY_RETURN_IF_ERROR(files->Remove(name));
    TONY_RETURN_IF_ERROR(files->Remove(MarkOf(own)));
    ++removed;
  }
  return removed;
}

}  // namespace tony::client
