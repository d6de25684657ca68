// Files there are replaced as a whole or never change, so a copy is never half of one. The end is
// copied last and noted in a file, after which the job is not asked for any more.
#include "portal/mirror/mirrored_job.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backend/yarn/yarn_job.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "history/job_entry.h"
#include "os/files/file_lock.h"
#include "os/files/files.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"

namespace tony::portal {
namespace {

namespace fs = std::filesystem;

/// Made when nothing is left to copy.
constexpr char kCompleteFile[] = "copied";
/// The file's contents if the history was too long.
constexpr char kCut[] = "cut";
/// The history that is copied anew, until it has caught up with the one there.
constexpr char kNewEvents[] = "/.events.jsonl";
/// The store of metrics is bounded by the ApplicationMaster; storage::JobFiles reads no more.
constexpr int64_t kMostMetricBytes = int64_t{64} << 20;

/// Nothing where there is no such file.
absl::StatusOr<std::optional<std::string>> ReadIfThere(storage::JobFiles& files,
                                                       const std::string& name) {
  absl::StatusOr<std::string> contents = files.Read(name);
  if (absl::IsNotFound(contents.status())) return std::nullopt;
  TONY_RETURN_IF_ERROR(contents.status());
  return std::make_optional(*std::move(contents));
}

}  // namespace

MirroredJob::MirroredJob(const os::FolderHandle& jobs, storage::JobFiles& files, std::string id)
    : jobs_(jobs), files_(files), id_(std::move(id)), folder_(jobs.PathOf(id_)) {
  std::error_code ignored;
  shown_ = fs::is_directory(folder_.root(), ignored);
  complete_ = shown_ && IsComplete(folder_);
  ended_ = complete_;
  if (!shown_) folder_ = storage::JobFolder(jobs.PathOf("." + id_));
}

bool MirroredJob::IsComplete(const storage::JobFolder& folder) {
  std::error_code ignored;
  return fs::exists(folder.root() + "/" + kCompleteFile, ignored);
}

bool MirroredJob::IsCut(const storage::JobFolder& folder) {
  return os::ReadFile(folder.root() + "/" + kCompleteFile).value_or("") == kCut;
}

std::string MirroredJob::There(const std::string& name) const {
  return absl::StrCat(backend::JobFolderName(id_), "/", name);
}

// Not among logs: a folder for them would be taken for their copy.
std::string MirroredJob::StacksPath() const {
  return absl::StrCat(folder_.root(), "/", storage::kStacksFile);
}

int64_t MirroredJob::bytes() const {
  int64_t bytes = 0;
  for (const std::string& file : {folder_.root() + kNewEvents, folder_.events(), folder_.metrics(),
                                  folder_.usage(), StacksPath()}) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (!error) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

absl::Status MirroredJob::OpenFolder() {
  if (std::exchange(opened_, true)) return absl::OkStatus();
  const absl::Status made = jobs_.OpenOrMake(shown_ ? id_ : "." + id_).status();
  opened_ = made.ok();
  return made;
}

// Whoever looks at the folder takes the job for a living one as long as the lock is held.
absl::Status MirroredJob::Hold() {
  if (lock_.valid()) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(lock_, os::LockFile(folder_.am_lock()));
  return absl::OkStatus();
}

absl::Status MirroredJob::Show() {
  if (shown_) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(jobs_.Rename("." + id_, id_));
  folder_ = storage::JobFolder(jobs_.PathOf(id_));
  shown_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::string> MirroredJob::NewLines(const storage::EventFile& file) {
  TONY_ASSIGN_OR_RETURN(std::string text,
                        files_.Read(There(absl::StrCat(storage::kEventFolder, "/", file.name))));
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  if (file.first > last_file_) return text;
  // Files that were copied one by one have been merged with newer ones.
  std::string lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const absl::StatusOr<core::JobEvent> event = rpc::EventFromJsonLine(std::string(line));
    if (event.ok() && event->sequence > last_sequence_) absl::StrAppend(&lines, line, "\n");
  }
  return lines;
}

// Everything is copied anew by each process, as nobody knows how far an earlier one came. Its copy
// stays until the new one is as long: a portal that is ended meanwhile, or loses the cluster, would
// otherwise leave less than it found.
std::string MirroredJob::EventsPath() const {
  return caught_up_ ? folder_.events() : folder_.root() + kNewEvents;
}

absl::Status MirroredJob::AddEvents(const std::string& lines) {
  if (!begun_) {
    TONY_RETURN_IF_ERROR(os::WriteFileAtomically(EventsPath(), lines));
  } else {
    TONY_ASSIGN_OR_RETURN(const os::AppendFile file, os::AppendFile::Open(EventsPath()));
    const absl::Status added = file.Append(lines);
    if (!added.ok()) {
      (void)file.Cut(event_bytes_);
      return added;
    }
  }
  begun_ = true;
  event_bytes_ += static_cast<int64_t>(lines.size());
  const rpc::HistoryEnd end = rpc::FindHistoryEnd(lines);
  if (end.sequence > 0) last_sequence_ = end.sequence;
  ended_ = ended_ || end.ended;
  return absl::OkStatus();
}

absl::Status MirroredJob::CopyEvents(const std::stop_token& stop) {
  if (cut_) return absl::OkStatus();
  const auto copied = storage::ReadWhileMerging([this, &stop]() -> absl::StatusOr<bool> {
    TONY_ASSIGN_OR_RETURN(const storage::EventFiles listed,
                          storage::ListEventFiles(files_, backend::JobFolderName(id_)));
    for (const storage::EventFile& file : listed.kept) {
      if (file.first == 0 || file.last <= last_file_) continue;
      if (stop.stop_requested()) return absl::CancelledError("nobody waits for the copy");
      const absl::StatusOr<std::string> read = NewLines(file);
      const bool too_large = absl::IsResourceExhausted(read.status());
      if (!too_large) TONY_RETURN_IF_ERROR(read.status());
      const std::string lines = read.value_or("");
      if (too_large || event_bytes_ + static_cast<int64_t>(lines.size()) > kMostEventBytes) {
        cut_ = true;
        LogWarning("a history is too long to be copied as a whole", {{"job", id_}});
        return true;
      }
      TONY_RETURN_IF_ERROR(AddEvents(lines));
      last_file_ = file.last;
    }
    return true;
  });
  TONY_RETURN_IF_ERROR(copied.status());
  if (!begun_ || caught_up_) return absl::OkStatus();
  if (::rename(EventsPath().c_str(), folder_.events().c_str()) != 0) {
    return os::ErrnoError(errno, folder_.events());
  }
  caught_up_ = true;
  return absl::OkStatus();
}

absl::Status MirroredJob::CopyIfNew(const std::string& name, const std::string& here, int64_t most,
                                    std::optional<int64_t>& time) {
  const absl::StatusOr<storage::StoredFile> there = files_.Describe(There(name));
  if (absl::IsNotFound(there.status())) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(there.status());
  if (time == there->modified_millis) return absl::OkStatus();
  const auto bytes = there->bytes > most
                         ? absl::ResourceExhaustedError(absl::StrCat(there->bytes, " bytes"))
                         : ReadIfThere(files_, There(name));
  if (absl::IsResourceExhausted(bytes.status())) {
    LogWarning("a file of a job is too large to be copied", {{"job", id_}, {"file", name}});
    time = there->modified_millis;
    return absl::OkStatus();
  }
  TONY_RETURN_IF_ERROR(bytes.status());
  if (!*bytes) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(here, **bytes));
  time = there->modified_millis;
  return absl::OkStatus();
}

absl::Status MirroredJob::CopyUsage() {
  if (ended_) return os::RemoveTree(folder_.usage());
  TONY_ASSIGN_OR_RETURN(const auto usage, ReadIfThere(files_, There(storage::kUsageFile)));
  if (!usage || *usage == usage_) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder_.usage(), *usage));
  usage_ = *usage;
  return absl::OkStatus();
}

absl::Status MirroredJob::CopyConfiguration() {
  if (has_configuration_) return absl::OkStatus();
  TONY_ASSIGN_OR_RETURN(const auto xml, ReadIfThere(files_, There(storage::kConfigurationFile)));
  if (!xml) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder_.job_xml(), *xml));
  has_configuration_ = true;
  return absl::OkStatus();
}

absl::StatusOr<bool> MirroredJob::CopySummary() {
  TONY_ASSIGN_OR_RETURN(const auto text, ReadIfThere(files_, There(storage::kSummaryFile)));
  if (!text) return false;
  absl::StatusOr<history::JobEntry> entry = history::EntryFromJson(*text);
  if (!entry.ok() || cut_) return true;  // its history is read in its place
  entry->events_bytes = event_bytes_;
  TONY_RETURN_IF_ERROR(os::WriteFileAtomically(folder_.summary(), history::EntryToJson(*entry)));
  return true;
}

absl::Status MirroredJob::Update(bool over, const std::stop_token& stop) {
  if (complete_) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(OpenFolder());
  TONY_RETURN_IF_ERROR(Hold());
  TONY_RETURN_IF_ERROR(CopyEvents(stop));
  TONY_RETURN_IF_ERROR(CopyConfiguration());
  TONY_RETURN_IF_ERROR(CopyUsage());
  // An ApplicationMaster writes its last metrics before the summary, so these are copied behind it.
  bool summed_up = false;
  if (ended_ || over) {
    TONY_ASSIGN_OR_RETURN(summed_up, CopySummary());
  }
  TONY_RETURN_IF_ERROR(
      CopyIfNew(storage::kMetricFile, folder_.metrics(), kMostMetricBytes, metrics_time_));
  TONY_RETURN_IF_ERROR(
      CopyIfNew(storage::kStacksFile, StacksPath(), kMostStackBytes, stacks_time_));
  TONY_RETURN_IF_ERROR(Show());
  if (!summed_up && !over) return absl::OkStatus();
  TONY_RETURN_IF_ERROR(
      os::WriteFileAtomically(folder_.root() + "/" + kCompleteFile, cut_ ? kCut : ""));
  complete_ = true;
  lock_.Reset();
  return absl::OkStatus();
}

}  // namespace tony::portal
