// A folder with a file for each node, and what each has of the containers.
#include "client/collected_logs.h"

#include <stdio.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/yarn/container_id.h"
#include "client/container_log.h"
#include "common/status_macros.h"
#include "hadoop/aggregated_logs.h"
#include "os/files.h"
#include "os/log_segments.h"

namespace tony::client {
namespace {

constexpr size_t kPartBytes = 256 << 10;
// Of a file that a node still writes.
constexpr char kUnfinished[] = ".tmp";
// Of a file that is none of logs.
constexpr char kChecksum[] = "-checksum";

/// The application's folder of collected logs. A plain value.
struct Found {
  std::unique_ptr<hadoop::FileStore> store;
  std::string folder;
  std::vector<hadoop::FolderEntry> entries;
};

/// NotFound – there is none (yet); otherwise the codes of FindLogPlaces and FileStore::List.
absl::StatusOr<Found> FindFolder(const backend::YarnCluster& cluster,
                                 const std::string& application) {
  TONY_RETURN_IF_ERROR(cluster.log_places().status());
  std::string likeliest;
  for (const backend::LogPlace& place : *cluster.log_places()) {
    TONY_ASSIGN_OR_RETURN(auto store, cluster.OpenLogs(place));
    TONY_ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                          backend::LogFolders(place, cluster.user(), application));
    for (const std::string& folder : folders) {
      if (likeliest.empty()) likeliest = folder;
      auto entries = store->List(folder);
      if (entries.ok()) return Found{std::move(store), folder, *std::move(entries)};
      if (!absl::IsNotFound(entries.status())) return entries.status();
    }
  }
  return absl::NotFoundError(
      absl::StrCat("YARN has collected no logs of ", application, " in ", likeliest, " (yet)"));
}

void AppendSentence(std::string& text, const std::string& sentence) {
  absl::StrAppend(&text, text.empty() ? "" : "; ", sentence);
}

/// The copying of one application's. Not thread safe.
class Copier {
 public:
  Copier(const std::map<std::string, std::string>& tasks, const backend::JobFolder& folder)
      : tasks_(tasks), folder_(folder) {}

  /// All that one node's file has. Containers of which something could not be read are not in
  /// `containers()`.
  absl::Status CopyNode(hadoop::FileStore& store, const std::string& path, int64_t bytes) {
    TONY_ASSIGN_OR_RETURN(const auto file, hadoop::StoredFile::Open(store, path, bytes));
    TONY_ASSIGN_OR_RETURN(const auto logs, hadoop::AggregatedLogs::Open(file));
    std::set<std::string> whole;
    while (true) {
      const absl::StatusOr<bool> more = logs->Next();
      const absl::Status copied = more.ok() && *more ? CopyLog(*logs) : more.status();
      if (!copied.ok()) whole.erase(logs->container());
      if (!copied.ok() || !*more) {
        containers_.merge(whole);
        return copied;
      }
      whole.insert(logs->container());
    }
  }

  /// Makes one log of those of all ApplicationMasters, one after the other.
  absl::Status JoinMasters() {
    int segments = 0;
    for (const auto& [attempt, container] : masters_) {
      const std::string path = MasterPath(container, "am.log");
      for (const int number : os::FindLogSegments(path)) {
        const std::string to = os::LogSegmentPath(folder_.am_log(), ++segments);
        TONY_RETURN_IF_ERROR(os::MakeFolders(folder_.logs()));
        if (rename(os::LogSegmentPath(path, number).c_str(), to.c_str()) != 0) {
          return os::ErrnoError(errno, to);
        }
      }
    }
    return absl::OkStatus();
  }

  std::set<std::string> TakeContainers() { return std::move(containers_); }

 private:
  std::string MasterPath(const std::string& container, const std::string& name) const {
    return absl::StrCat(folder_.root(), "/masters/", container, "/", name);
  }

  /// Where the present log belongs; nothing: nowhere.
  std::optional<std::string> TargetOf(const hadoop::AggregatedLogs& logs) {
    if (const auto task = tasks_.find(logs.container()); task != tasks_.end()) {
      const std::optional<std::string> name = TaskLogName(task->second, logs.name());
      if (!name) return std::nullopt;
      return absl::StrCat(folder_.logs(), "/", *name);
    }
    const std::optional<std::string> name = MasterLogName(logs.name());
    const auto id = backend::ParseContainerId(logs.container());
    if (!name || !id.ok()) return std::nullopt;
    masters_[id->app_attempt_id().attemptid()] = logs.container();
    return MasterPath(logs.container(), *name);
  }

  absl::Status CopyLog(hadoop::AggregatedLogs& logs) {
    const std::optional<std::string> path = TargetOf(logs);
    if (!path) return absl::OkStatus();
    TONY_RETURN_IF_ERROR(os::MakeFolders(path->substr(0, path->rfind('/'))));
    std::ofstream file(*path, std::ios::binary);
    while (file.good()) {
      TONY_ASSIGN_OR_RETURN(const size_t count, logs.Read(part_.data(), part_.size()));
      if (count == 0) break;
      file.write(part_.data(), static_cast<std::streamsize>(count));
    }
    file.close();
    if (file.good()) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat("cannot write ", *path));
  }

  const std::map<std::string, std::string>& tasks_;
  const backend::JobFolder& folder_;
  std::map<int, std::string> masters_;  // containers by attempt
  std::set<std::string> containers_;
  std::string part_ = std::string(kPartBytes, '\0');
};

}  // namespace

CollectedLogs CopyCollectedLogs(const backend::YarnCluster& cluster, const std::string& application,
                                const std::map<std::string, std::string>& tasks,
                                const backend::JobFolder& folder) {
  CollectedLogs collected;
  const absl::StatusOr<Found> found = FindFolder(cluster, application);
  if (!found.ok()) {
    collected.absent = std::string(found.status().message());
    return collected;
  }
  Copier copier(tasks, folder);
  for (const hadoop::FolderEntry& entry : found->entries) {
    const std::string path = absl::StrCat(found->folder, "/", entry.name);
    if (absl::EndsWith(entry.name, kChecksum)) continue;
    if (absl::EndsWith(entry.name, kUnfinished)) {
      const std::string node = entry.name.substr(0, entry.name.size() - sizeof(kUnfinished) + 1);
      AppendSentence(collected.absent,
                     absl::StrCat("aggregation of the logs of ", application, " has not ended on ",
                                  node, " yet (", path, " is being written)"));
      continue;
    }
    const absl::Status copied = entry.folder
                                    ? absl::UnimplementedError("it is a folder, or an archive")
                                    : copier.CopyNode(*found->store, path, entry.bytes);
    if (copied.ok()) continue;
    AppendSentence(
        collected.missing,
        absl::StrCat(path, ": ", std::string(copied.message()),
                     absl::IsUnimplemented(copied) ? absl::StrCat("; yarn logs -applicationId ",
                                                                  application, " shows what it has")
                                                   : ""));
  }
  if (const absl::Status joined = copier.JoinMasters(); !joined.ok()) {
    AppendSentence(collected.missing, std::string(joined.message()));
  }
  collected.containers = copier.TakeContainers();
  if (collected.absent.empty() && collected.missing.empty()) {
    collected.absent = absl::StrCat(found->folder, " has no file of their nodes (yet)");
  }
  return collected;
}

}  // namespace tony::client
