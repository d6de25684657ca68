// YARN's log aggregation keeps one folder for each application, with one file for each node. Each
// file is read once, from its first record to its last, and every record is matched with a
// container of the job.
#include "yarnlogs/collected_logs.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "hadoop/logs/open_logs.h"
#include "history/log_receiver.h"
#include "logs/container_logs.h"
#include "os/files/archive_digest.h"
#include "yarnlogs/log_origins.h"

namespace tony::yarnlogs {
namespace {

constexpr size_t kPartBytes = 256 << 10;
// Suffix of an aggregated file that a node is still writing.
constexpr char kUnfinished[] = ".tmp";
// Suffix of a checksum file beside an aggregated file; it holds no logs.
constexpr char kChecksum[] = "-checksum";

/// The application's folder of collected logs. A plain value.
struct Found {
  std::unique_ptr<hadoop::FileStore> store;
  std::string folder;
  std::vector<hadoop::FolderEntry> entries;
};

/// Whether the entry is a file of logs that its node has written to its end.
bool IsCopied(const hadoop::FolderEntry& entry) {
  return !absl::EndsWith(entry.name, kChecksum) && !absl::EndsWith(entry.name, kUnfinished);
}

void AppendSentence(std::string& text, const std::string& sentence) {
  absl::StrAppend(&text, text.empty() ? "" : "; ", sentence);
}

/// Opens the first existing folder of `place`. NotFound – none exists; the codes of LogFolders,
/// YarnCluster::OpenLogs and FileStore::List.
absl::StatusOr<Found> FindFolderIn(const backend::YarnCluster& cluster,
                                   const backend::LogLocation& location,
                                   const std::string& application) {
  TONY_ASSIGN_OR_RETURN(auto store, cluster.OpenLogs(location));
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> folders,
                        backend::LogFolders(location, cluster.user(), application));
  absl::Status why = absl::NotFoundError("there is none");
  for (const std::string& folder : folders) {
    auto entries = store->List(folder);
    if (entries.ok()) return Found{std::move(store), folder, *std::move(entries)};
    if (absl::IsNotFound(why)) why = entries.status();
    // A file system that does not answer costs a full deadline for each question, so the other
    // folders are not tried.
    if (absl::IsUnavailable(why) || absl::IsDeadlineExceeded(why)) break;
  }
  if (!absl::IsNotFound(why)) return why;
  return absl::NotFoundError(folders.front());
}

/// Tries all places where YARN may keep collected logs. NotFound – there are none (yet); otherwise
/// the codes of FindLogLocations and FindFolderIn, when a place could not be looked into and no
/// other place has the folder.
absl::StatusOr<Found> FindFolder(const backend::YarnCluster& cluster,
                                 const std::string& application) {
  TONY_RETURN_IF_ERROR(cluster.log_locations().status());
  std::string likeliest;
  absl::Status first;
  std::string errors;
  for (const backend::LogLocation& location : *cluster.log_locations()) {
    absl::StatusOr<Found> found = FindFolderIn(cluster, location, application);
    if (found.ok()) return found;
    const std::string why(found.status().message());
    if (absl::IsNotFound(found.status())) {
      if (likeliest.empty()) likeliest = why;
      continue;
    }
    if (first.ok()) first = found.status();
    if (!absl::StrContains(errors, why)) AppendSentence(errors, why);
  }
  if (!first.ok()) return absl::Status(first.code(), errors);
  return absl::NotFoundError(
      absl::StrCat("YARN has collected no logs of ", application, " in ", likeliest, " (yet)"));
}

absl::Status Stopped() { return absl::CancelledError("nobody waits for the logs any more"); }

/// Copies the collected logs of one application. Not thread safe.
class Copier {
 public:
  Copier(const std::vector<history::LogOrigin>& origins, const history::LogSelection& selection,
         history::LogMirror& mirror, const std::stop_token& stop)
      : selection_(selection), mirror_(mirror), stop_(stop) {
    for (const history::LogOrigin& origin : origins) {
      const std::optional<ContainerUrl> shown = ParseContainerUrl(origin.url);
      origins_.emplace(shown ? shown->container : origin.container, origin);
    }
  }

  /// Copies the selected logs from one node's file. A container of which something could not be
  /// read does not appear in the result of TakeContainers().
  absl::Status CopyNode(hadoop::FileStore& store, const std::string& path, int64_t bytes) {
    TONY_ASSIGN_OR_RETURN(const auto file, hadoop::StoredFile::Open(store, path, bytes));
    TONY_ASSIGN_OR_RETURN(const auto logs, hadoop::OpenAggregatedLogs(file));
    std::set<std::string> whole;
    while (true) {
      if (stop_.stop_requested()) return Stopped();
      const absl::StatusOr<bool> more = logs->Next();
      const auto name = logs::ParseContainerLog(logs->name());
      const std::optional<history::LogOrigin> origin = OriginOf(logs->container(), name);
      absl::Status copied = more.status();
      if (more.ok() && *more && origin && name) copied = CopyLog(*logs, *name, *origin);
      // `whole` is merged only when the file ends or fails, and an error erases the container that
      // was being read: its copy is incomplete.
      if (copied.ok() && *more && origin) whole.insert(origin->container);
      if (!copied.ok() && origin) whole.erase(origin->container);
      if (!copied.ok() || !*more) {
        containers_.merge(whole);
        return copied;
      }
    }
  }

  std::set<std::string> TakeContainers() { return std::move(containers_); }

 private:
  /// The origin of a log in `container`; nothing: the log belongs to nobody. Containers of tasks
  /// are named by the job's events. An unknown container with an ApplicationMaster's log is an
  /// ApplicationMaster that failed before the job's events could name it.
  std::optional<history::LogOrigin> OriginOf(
      const std::string& container, const std::optional<logs::ContainerLogFile>& log) const {
    const auto known = origins_.find(container);
    if (known != origins_.end()) return known->second;
    const std::optional<int> attempt = AttemptOf(container);
    const bool of_master = log && log->stream == logs::ContainerLogFile::Stream::kMaster;
    if (!of_master || !attempt || !selection_.has_master()) return std::nullopt;
    return history::LogOrigin{
        .task = core::kMasterTaskType, .folder = "", .container = container, .order = *attempt};
  }

  absl::Status CopyLog(hadoop::AggregatedLogs& logs, const logs::ContainerLogFile& log,
                       const history::LogOrigin& origin) {
    if (!history::IsSelected(origin, selection_, log)) return absl::OkStatus();
    logs::LogPiece piece;
    piece.file = log;
    piece.version = mirror_.VersionOf(origin, log);  // the mirror may have a part of this file
    while (true) {
      if (stop_.stop_requested()) return Stopped();
      piece.bytes.resize(kPartBytes);
      TONY_ASSIGN_OR_RETURN(const size_t count, logs.Read(piece.bytes.data(), kPartBytes));
      piece.bytes.resize(count);
      if (count == 0 && piece.offset > 0) return absl::OkStatus();
      TONY_RETURN_IF_ERROR(mirror_.Take(origin, piece));
      if (count == 0) return absl::OkStatus();
      piece.offset += static_cast<int64_t>(count);
    }
  }

  const history::LogSelection& selection_;
  history::LogMirror& mirror_;
  const std::stop_token stop_;
  std::map<std::string, history::LogOrigin> origins_;  // by YARN's id of the container
  std::set<std::string> containers_;
};

}  // namespace

CollectedLogs CopyCollectedLogs(const backend::YarnCluster& cluster, const std::string& application,
                                const std::vector<history::LogOrigin>& origins,
                                const history::LogSelection& selection, history::LogMirror& mirror,
                                const std::stop_token& stop) {
  CollectedLogs collected;
  const absl::StatusOr<Found> found = FindFolder(cluster, application);
  if (!found.ok()) {
    collected.absent = std::string(found.status().message());
    return collected;
  }
  collected.found = true;
  Copier copier(origins, selection, mirror, stop);
  for (const hadoop::FolderEntry& entry : found->entries) {
    const std::string path = absl::StrCat(found->folder, "/", entry.name);
    if (absl::EndsWith(entry.name, kUnfinished)) {
      const std::string node = entry.name.substr(0, entry.name.size() - sizeof(kUnfinished) + 1);
      collected.unfinished = true;
      AppendSentence(collected.absent,
                     absl::StrCat("aggregation of the logs of ", application, " has not ended on ",
                                  node, " yet (", path, " is being written)"));
      continue;
    }
    if (!IsCopied(entry)) continue;
    // A folder entry, or a Hadoop archive of logs, is not read here; the sentence names the command
    // that can show it.
    const absl::Status copied = entry.folder
                                    ? absl::UnimplementedError("it is a folder, or an archive")
                                    : copier.CopyNode(*found->store, path, entry.bytes);
    if (copied.ok()) continue;
    if (absl::IsUnavailable(copied) || absl::IsDeadlineExceeded(copied)) {
      collected.broken_off.Update(copied);
    }
    AppendSentence(
        collected.missing,
        absl::StrCat(path, ": ", std::string(copied.message()),
                     absl::IsUnimplemented(copied) ? absl::StrCat("; yarn logs -applicationId ",
                                                                  application, " shows what it has")
                                                   : ""));
    if (absl::IsCancelled(copied)) collected.broken_off = copied;
    // What a full mirror has no room for is not worth reading.
    if (absl::IsCancelled(copied) || absl::IsOutOfRange(copied)) break;
  }
  collected.containers = copier.TakeContainers();
  if (collected.absent.empty() && collected.missing.empty()) {
    collected.absent = absl::StrCat(found->folder, " has no file of their nodes (yet)");
  }
  return collected;
}

absl::StatusOr<std::string> ListCollectedLogs(const backend::YarnCluster& cluster,
                                              const std::string& application) {
  TONY_ASSIGN_OR_RETURN(const Found found, FindFolder(cluster, application));
  std::map<std::string, int64_t> sizes;
  for (const hadoop::FolderEntry& entry : found.entries) {
    if (IsCopied(entry)) sizes.emplace(entry.name, entry.bytes);
  }
  os::Sha256 digest;
  for (const auto& [name, bytes] : sizes) {
    const std::string line = absl::StrCat(name, "/", bytes, "\n");
    digest.Update(line.data(), line.size());
  }
  return digest.Finish();
}

}  // namespace tony::yarnlogs
