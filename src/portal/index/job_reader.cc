// A summary counts only if it sums up the history as it is: a job that went on after it (an
// ApplicationMaster that came back) has a longer history.
#include "portal/index/job_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "history/record_file.h"
#include "jobfile/configuration/configuration_loader.h"
#include "os/files/folder_trust.h"
#include "pagedata/config_keys.h"
#include "pagedata/job_traits.h"
#include "portal/index/job_place.h"
#include "rpc/convert/event_json.h"
#include "rpc/convert/event_lines.h"
#include "storage/job_liveness.h"

namespace tony::portal {
namespace {

constexpr size_t kMostFirstLine = size_t{256} * 1024;

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The summary in the folder, if it is about this history.
std::optional<history::JobEntry> ReadSummary(const storage::JobFolder& folder,
                                             const std::string& job_id, const FileMark& mark) {
  if (mark.summary_time == 0) return std::nullopt;
  const absl::StatusOr<std::string> text =
      history::ReadRecordFile(folder.summary(), history::kMostSummaryBytes);
  if (!text.ok()) return std::nullopt;
  absl::StatusOr<history::JobEntry> entry = history::EntryFromJson(*text);
  if (!entry.ok() || entry->job_id != job_id || entry->events_bytes != mark.events_bytes) {
    return std::nullopt;
  }
  return *std::move(entry);
}

struct JobFileFacts {
  history::JobTraits traits;
  std::string name;
};

JobFileFacts ReadJobFile(const storage::JobFolder& folder) {
  if (!history::OpenRecordFile(folder.job_xml()).ok()) return {};
  const jobfile::Sources sources{.job_file = folder.job_xml(), .working_folder = "/"};
  const jobfile::Configuration configuration = jobfile::LoadConfiguration(sources).configuration;
  return {pagedata::TraitsOf(configuration, pagedata::ConfigKeys(configuration)),
          configuration.GetText("tony.application.name")};
}

std::string FirstLine(const std::string& path) {
  const absl::StatusOr<os::UniqueFd> file = history::OpenRecordFile(path);
  if (!file.ok()) return "";
  std::string line(kMostFirstLine, '\0');
  const ssize_t count = ::pread(file->get(), line.data(), line.size(), 0);
  line.resize(static_cast<size_t>(std::max<ssize_t>(0, count)));
  return line.substr(0, line.find('\n'));
}

/// The job in `stored`, which is not alive.
void TakePast(const history::StoredJob& stored, ReadJob& read) {
  history::JobEntry& entry = read.job.entry;
  if (stored.job.unreadable) {
    entry = history::EntryOfNewer(FirstLine(stored.folder.events()));
    entry.state = stored.job.StateName();
    entry.sentence = stored.sentence;
    return;
  }
  const JobFileFacts facts = ReadJobFile(stored.folder);
  entry = history::EntryOf(stored.job, facts.traits);
  if (entry.name.empty()) entry.name = facts.name;
  if (stored.job.lost) {
    entry.sentence = stored.sentence;
  } else {
    read.job.trouble = stored.sentence;
  }
  if (entry.submitted_millis == 0) entry.submitted_millis = stored.submitted_millis;
  const absl::StatusOr<rpc::HistoryEnd> end = rpc::ReadHistoryEnd(stored.folder.events());
  if (end.ok() && end->rest > 0 && read.job.trouble.empty()) {
    read.job.trouble = absl::StrCat("the last line of its history is cut off, so its last ",
                                    end->rest, " bytes are left out");
  }
}

}  // namespace

FileMark JobReader::MarkOf(const storage::JobFolder& folder) {
  FileMark mark;
  struct stat status {};
  if (::stat(folder.events().c_str(), &status) == 0) {
    mark.events_bytes = status.st_size;
    mark.events_time = Nanoseconds(status.st_mtim);
    mark.events_inode = static_cast<int64_t>(status.st_ino);
  }
  if (::stat(folder.summary().c_str(), &status) == 0) {
    mark.summary_time = Nanoseconds(status.st_mtim);
  }
  return mark;
}

bool JobReader::Lives(const std::string& location, const std::string& job_id) {
  return storage::IsAlive(FolderOf(location, job_id));
}

// The locks are looked at before the history: a job that ends in between would look lost.
ReadJob JobReader::Read(const std::string& location, const std::string& job_id,
                        const FileMark& mark) {
  const storage::JobFolder folder = FolderOf(location, job_id);
  ReadJob read;
  read.mark = mark;
  // What others may write to says nothing about this user's job, and may be a trap.
  if (const absl::Status own = os::OpenOwnFolder(folder.root()).status(); !own.ok()) {
    tracked_.erase(folder.root());
    read.job.trouble = std::string(own.message());
  } else if (auto summary = ReadSummary(folder, job_id, mark)) {
    read.job.entry = *std::move(summary);
    tracked_.erase(folder.root());
  } else if (storage::IsAlive(folder)) {
    ReadLiving(folder, job_id, read);
  } else {
    tracked_.erase(folder.root());
    const absl::StatusOr<history::StoredJob> stored = history::ReadStoredJob(folder, job_id);
    if (stored.ok()) TakePast(*stored, read);
    if (!stored.ok()) read.job.trouble = std::string(stored.status().message());
  }
  read.job.location = location;
  history::JobEntry& entry = read.job.entry;
  entry.job_id = job_id;
  // Another program may have written the files.
  entry.submitted_millis = std::max<int64_t>(0, entry.submitted_millis);
  if (entry.ended_millis >= std::max<int64_t>(1, entry.submitted_millis)) {
    read.job.duration_millis = entry.ended_millis - entry.submitted_millis;
  }
  return read;
}

void JobReader::ReadLiving(const storage::JobFolder& folder, const std::string& job_id,
                           ReadJob& read) {
  auto found = tracked_.find(folder.root());
  if (found == tracked_.end()) {
    if (tracked_.size() >= kMostTracked) tracked_.erase(tracked_.begin());
    found = tracked_.try_emplace(folder.root(), folder).first;
    Tracked& fresh = found->second;
    fresh.traits = ReadJobFile(folder).traits;
    fresh.stored.id = job_id;
    fresh.stored.folder = folder;
    fresh.stored.alive = true;
  }
  Tracked& tracked = found->second;
  history::StoredJob& stored = tracked.stored;
  tracked.tail.Read([&tracked](const std::string& line) {
    ++tracked.lines;
    // The index needs no measurements, of which earlier versions recorded many.
    if (rpc::ScanMeasurement(line)) return;
    if (tracked.stored.job.unreadable) return;
    (void)history::TakeLine(tracked.lines, rpc::EventFromJsonLine(line), tracked.stored);
  });
  if (stored.job.unreadable) {
    TakePast(stored, read);
  } else {
    read.job.entry = history::EntryOf(stored.job, tracked.traits);
    read.job.trouble = stored.sentence;
  }
  if (read.job.entry.submitted_millis == 0) {
    read.job.entry.submitted_millis = history::SubmittedMillis(folder);
  }
  // A job that has just ended is looked at until its summary is there.
  read.job.alive = true;
}

}  // namespace tony::portal
