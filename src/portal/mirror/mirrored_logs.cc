// A folder of logs appears and goes as a whole, since it is filled and removed elsewhere; so the
// folder of a job that JobMirror removes meanwhile does not come back either. The folder's time
// tells when the logs were last looked at.
#include "portal/mirror/mirrored_logs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "history/log_mirror.h"
#include "history/recorded_events.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "portal/index/job_place.h"
#include "portal/mirror/mirrored_job.h"
#include "yarnlogs/collected_logs.h"
#include "yarnlogs/log_origins.h"

namespace tony::portal {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr size_t kMostNamed = 5;
/// A page gets this much of a sentence that names files.
constexpr size_t kMostSentence = 600;

std::string RecordPath(const storage::JobFolder& folder) { return folder.logs() + "/copied.json"; }

/// How much disk the logs take, counted as LogMirror does, without the record.
int64_t SizeOf(const storage::JobFolder& folder) {
  int64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator each(folder.logs(), error), end; !error && each != end;
       each.increment(error)) {
    std::error_code unread;
    const bool plain = fs::is_regular_file(each->symlink_status(unread));
    if (!plain || each->path() == RecordPath(folder)) continue;
    const auto size = static_cast<int64_t>(each->file_size(unread));
    if (!unread) bytes += size + history::LogMirror::kFileBytes;
  }
  return bytes;
}

/// When the folder was changed last, in Unix milliseconds; nothing: there is none.
std::optional<int64_t> TimeOf(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return std::nullopt;
  return int64_t{status.st_mtim.tv_sec} * 1000 + status.st_mtim.tv_nsec / 1'000'000;
}

history::LogSelection Everything() {
  history::LogSelection selection;
  selection.executor = true;
  selection.and_master = true;
  selection.stacks = true;
  return selection;
}

std::vector<history::LogOrigin> FindOrigins(const storage::JobFolder& folder) {
  yarnlogs::LogOrigins known(Everything());
  std::vector<history::LogOrigin> origins;
  history::ForEachRecordedEvent(folder, [&](int, const absl::StatusOr<core::JobEvent>& event) {
    std::optional<history::LogOrigin> origin = event.ok() ? known.Take(*event) : std::nullopt;
    if (origin) origins.push_back(*std::move(origin));
    return true;
  });
  return origins;
}

std::string Cut(const std::string& sentence) {
  if (sentence.size() <= kMostSentence) return sentence;
  return absl::StrCat(ToUtf8(sentence.substr(0, kMostSentence)), "…");
}

/// Which logs are not in the copy, and why.
std::string Missing(const yarnlogs::CollectedLogs& collected,
                    const std::vector<history::LogOrigin>& origins, bool cut) {
  std::vector<std::string> sentences;
  if (cut) sentences.push_back("the job's history is too long to name all of its containers");
  if (collected.unfinished) sentences.push_back(Cut(collected.absent));
  if (!collected.missing.empty()) sentences.push_back(Cut(collected.missing));
  if (!sentences.empty()) return absl::StrJoin(sentences, "; ");
  std::vector<std::string> tasks;
  size_t count = 0;
  for (const history::LogOrigin& origin : origins) {
    if (collected.containers.contains(origin.container)) continue;
    ++count;
    if (tasks.size() < kMostNamed) tasks.push_back(origin.task);
  }
  if (count == 0) return "";
  if (count > tasks.size()) tasks.push_back("…");
  return absl::StrCat("YARN has collected no logs of ", count,
                      count == 1 ? " container" : " containers", " (yet), of ",
                      absl::StrJoin(tasks, ", "));
}

absl::Status WriteRecord(const storage::JobFolder& folder, const LogsHere& here) {
  return os::WriteFileAtomically(
      RecordPath(folder),
      Json({{"missing", ToUtf8(here.missing)}, {"listing", here.listing}}).dump());
}

/// Empty, if the record, which may be damaged, has no such text.
std::string TextIn(const Json& record, const char* name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::Status Rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  return os::ErrnoError(errno, to);
}

}  // namespace

LogsHere FindMirroredLogs(const storage::JobFolder& folder) {
  LogsHere here;
  std::error_code ignored;
  here.copied = fs::is_directory(folder.logs(), ignored);
  if (!here.copied) return here;
  const Json record = Json::parse(os::ReadFile(RecordPath(folder)).value_or(""), nullptr, false);
  here.missing = TextIn(record, "missing");
  here.listing = TextIn(record, "listing");
  return here;
}

void NoteUseOfLogs(const storage::JobFolder& folder, const Clock& clock) {
  const int64_t millis = clock.UnixMillis();
  timespec now{};
  now.tv_sec = millis / 1000;
  now.tv_nsec = millis % 1000 * 1'000'000;
  const timespec times[] = {now, now};
  (void)::utimensat(AT_FDCWD, folder.logs().c_str(), times, AT_SYMLINK_NOFOLLOW);
}

bool MirroredLogs::HasRests() const {
  std::error_code ignored;
  return fs::exists(NewCopy().root(), ignored) || fs::exists(OldCopy().root(), ignored);
}

void MirroredLogs::RemoveRests() const {
  for (const storage::JobFolder& rest : {NewCopy(), OldCopy()}) {
    const absl::Status removed = os::RemoveTree(rest.root());
    if (!removed.ok()) LogWarning(std::string(removed.message()));
  }
}

absl::Status MirroredLogs::PutAside(const storage::JobFolder& folder) const {
  TONY_RETURN_IF_ERROR(os::RemoveTree(OldCopy().root()));
  TONY_RETURN_IF_ERROR(os::OpenOrMakeOwnFolder(OldCopy().root()).status());
  return Rename(folder.logs(), OldCopy().logs());
}

std::vector<MirroredLogs::Copied> MirroredLogs::Others(const std::string& id) const {
  std::vector<Copied> others;
  std::error_code error;
  for (fs::directory_iterator each(storage::JobsFolder(location_), error), end;
       !error && each != end; each.increment(error)) {
    const std::string name = each->path().filename().string();
    const storage::JobFolder folder = FolderOf(location_, name);
    const std::optional<int64_t> used = TimeOf(folder.logs());
    if (name != id && used) others.push_back({*used, SizeOf(folder), folder});
  }
  std::sort(others.begin(), others.end(), [](const Copied& left, const Copied& right) {
    return left.used_millis < right.used_millis;
  });
  return others;
}

bool MirroredLogs::IsInUse(const Copied& logs) const {
  return clock_.UnixMillis() - logs.used_millis < std::chrono::milliseconds(kInUse).count();
}

absl::StatusOr<int64_t> MirroredLogs::RoomFor(const std::string& id) const {
  int64_t room = limits_.bytes;
  for (const Copied& other : Others(id)) {
    if (IsInUse(other)) room -= other.bytes;
  }
  if (room > history::LogMirror::kFileBytes) return std::min(room, limits_.job_bytes);
  return absl::ResourceExhaustedError(
      absl::StrCat("the portal keeps ", limits_.bytes >> 20,
                   " MiB of logs of this cluster, and those of other jobs are being looked at"));
}

absl::Status MirroredLogs::MakeRoom(const std::string& id, int64_t bytes) const {
  const std::vector<Copied> others = Others(id);
  for (const Copied& other : others) bytes += other.bytes;
  for (const Copied& oldest : others) {
    if (bytes <= limits_.bytes || IsInUse(oldest)) break;
    TONY_RETURN_IF_ERROR(PutAside(oldest.folder));
    bytes -= oldest.bytes;
  }
  return absl::OkStatus();
}

// The old copy goes only when the new one is in its place.
absl::Status MirroredLogs::MoveTo(const storage::JobFolder& folder) const {
  NoteUseOfLogs(NewCopy(), clock_);
  std::error_code ignored;
  if (fs::exists(folder.logs(), ignored)) TONY_RETURN_IF_ERROR(PutAside(folder));
  return Rename(NewCopy().logs(), folder.logs());
}

absl::Status MirroredLogs::Copy(const backend::YarnCluster& cluster, const std::string& id,
                                const std::stop_token& stop) const {
  const storage::JobFolder folder = FolderOf(location_, id);
  if (!MirroredJob::IsComplete(folder)) return absl::NotFoundError("the job is not over");
  const LogsHere before = FindMirroredLogs(folder);
  if (before.copied && before.missing.empty()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const std::string listing, yarnlogs::ListCollectedLogs(cluster, id));
  if (before.copied && before.listing == listing) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const int64_t room, RoomFor(id));

  RemoveRests();
  const absl::Cleanup clean_up = [this] { RemoveRests(); };
  TONY_RETURN_IF_ERROR(os::OpenOrMakeOwnFolder(NewCopy().root()).status());
  history::LogMirror mirror(NewCopy(), room);
  const std::vector<history::LogOrigin> origins = FindOrigins(folder);
  const yarnlogs::CollectedLogs collected =
      yarnlogs::CopyCollectedLogs(cluster, id, origins, Everything(), mirror, stop);
  if (absl::IsCancelled(collected.broken_off)) return collected.broken_off;
  if (!collected.found) return absl::NotFoundError(collected.absent);
  TONY_RETURN_IF_ERROR(mirror.failure());
  // Without a listing, the copy is made again: when somebody answers, or there is more room.
  const bool again = !collected.broken_off.ok() || (mirror.full() && room < limits_.job_bytes);
  const LogsHere now{.copied = true,
                     .missing = Missing(collected, origins, MirroredJob::IsCut(folder)),
                     .listing = again ? "" : listing};
  std::error_code ignored;
  if (!fs::is_directory(NewCopy().logs(), ignored)) {
    return absl::NotFoundError(now.missing.empty() ? "YARN has collected none of its logs"
                                                   : now.missing);
  }
  const int64_t size = SizeOf(NewCopy());
  if (before.copied && !now.missing.empty() && size < SizeOf(folder)) {
    return WriteRecord(folder, {true, before.missing, now.listing});
  }
  TONY_RETURN_IF_ERROR(WriteRecord(NewCopy(), now));
  TONY_RETURN_IF_ERROR(MakeRoom(id, size));
  return MoveTo(folder);
}

}  // namespace tony::portal
