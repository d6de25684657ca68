// A summary is written when its job ends, so a local file's time is the order of the ends.
#include "pagedata/previous_run.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "history/job_entry.h"
#include "history/record_file.h"
#include "jobfile/configuration/configuration_loader.h"
#include "os/files/files.h"
#include "pagedata/config_keys.h"
#include "storage/job_folder.h"

namespace tony::pagedata {
namespace {

/// More summaries than these are not opened.
constexpr size_t kMostSummaries = 5'000;

struct Candidate {
  int64_t summary_seconds = 0;
  std::string id;
};

/// The folders with summaries, those that were written last first.
std::vector<Candidate> FindCandidates(const RunWish& wish, const std::function<bool()>& stop) {
  std::vector<Candidate> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(wish.jobs_folder.c_str()), closedir);
  if (folder == nullptr) return found;
  while (const dirent* const entry = stop() ? nullptr : readdir(folder.get())) {
    const std::string id = entry->d_name;
    if (id[0] == '.' || id == wish.job_id) continue;
    struct stat status {};
    const storage::JobFolder job(absl::StrCat(wish.jobs_folder, "/", id));
    if (stat(job.summary().c_str(), &status) == 0) found.push_back({status.st_mtime, id});
  }
  std::sort(found.begin(), found.end(), [](const Candidate& one, const Candidate& other) {
    return std::tie(one.summary_seconds, one.id) > std::tie(other.summary_seconds, other.id);
  });
  if (found.size() > kMostSummaries) found.resize(kMostSummaries);
  return found;
}

/// The summary's job, if it is one that is looked for.
std::optional<history::JobEntry> WishedEntry(const RunWish& wish,
                                             const absl::StatusOr<std::string>& summary) {
  if (!summary.ok()) return std::nullopt;
  absl::StatusOr<history::JobEntry> entry = history::EntryFromJson(*summary);
  if (!entry.ok() || entry->name != wish.name || entry->exit_code != 0) return std::nullopt;
  if (wish.before_millis != 0 && entry->submitted_millis >= wish.before_millis) return std::nullopt;
  return *std::move(entry);
}

web::PreviousRun RunOf(const history::JobEntry& entry, const std::string& job_xml) {
  const jobfile::Sources sources{.job_file = job_xml, .working_folder = "/"};
  return {entry.job_id, entry.ended_millis,
          ConfigKeys(jobfile::LoadConfiguration(sources).configuration)};
}

}  // namespace

std::optional<web::PreviousRun> FindPreviousRun(const RunWish& wish,
                                                const std::function<bool()>& stop) {
  if (wish.name.empty()) return std::nullopt;
  for (const Candidate& candidate : FindCandidates(wish, stop)) {
    if (stop()) return std::nullopt;
    const storage::JobFolder folder(absl::StrCat(wish.jobs_folder, "/", candidate.id));
    const std::optional<history::JobEntry> entry =
        WishedEntry(wish, history::ReadRecordFile(folder.summary(), history::kMostSummaryBytes));
    if (!entry || !history::OpenRecordFile(folder.job_xml()).ok()) continue;
    return RunOf(*entry, folder.job_xml());
  }
  return std::nullopt;
}

std::optional<web::PreviousRun> FindStoredRun(const RunWish& wish, storage::JobFiles& jobs,
                                              const std::vector<std::string>& ids,
                                              const std::function<bool()>& stop) {
  if (wish.name.empty()) return std::nullopt;
  size_t looked_at = 0;
  for (const std::string& id : ids) {
    if (stop() || ++looked_at > kMostStoredRuns) return std::nullopt;
    if (id == wish.job_id) continue;
    const storage::JobFolder folder(id);
    const absl::StatusOr<std::string> summary = jobs.Read(folder.summary());
    if (absl::IsUnavailable(summary.status())) return std::nullopt;
    const std::optional<history::JobEntry> entry = WishedEntry(wish, summary);
    if (!entry) continue;
    const absl::StatusOr<std::string> xml = jobs.Read(folder.job_xml());
    if (!xml.ok()) continue;
    const std::string path = absl::StrCat(wish.jobs_folder, "/.previous-", id, ".xml");
    if (!os::WriteFileAtomically(path, *xml).ok()) return std::nullopt;
    const absl::Cleanup remove = [&path] { (void)unlink(path.c_str()); };
    return RunOf(*entry, path);
  }
  return std::nullopt;
}

void PreviousRuns::Find(web::JobSource::TakePrevious take) {
  if (kept_ && clock_->Now() - kept_since_ < kKept) return take(*kept_);
  waiting_.push_back(std::move(take));
  if (waiting_.size() > 1) return;
  worker_.Run<std::optional<web::PreviousRun>>(
      nullptr,
      [search = search_](const Worker::Stop& stop)
          -> absl::StatusOr<std::optional<web::PreviousRun>> { return search(stop); },
      [this](const Result& result) { OnFound(result); });
}

void PreviousRuns::OnFound(const Result& result) {
  if (clock_ != nullptr && result.ok()) {
    kept_ = result;
    kept_since_ = clock_->Now();
  }
  // Whoever is told may ask again.
  for (const auto& take : std::exchange(waiting_, {})) take(result);
}

}  // namespace tony::pagedata
