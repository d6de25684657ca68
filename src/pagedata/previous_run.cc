// A summary is written when its job ends, so the file's time is the order of the ends.
#include "pagedata/previous_run.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "history/job_entry.h"
#include "history/record_file.h"
#include "jobfile/configuration/configuration_loader.h"
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

}  // namespace

std::optional<web::PreviousRun> FindPreviousRun(const RunWish& wish,
                                                const std::function<bool()>& stop) {
  if (wish.name.empty()) return std::nullopt;
  for (const Candidate& candidate : FindCandidates(wish, stop)) {
    if (stop()) return std::nullopt;
    const storage::JobFolder folder(absl::StrCat(wish.jobs_folder, "/", candidate.id));
    const absl::StatusOr<std::string> text =
        history::ReadRecordFile(folder.summary(), history::kMostSummaryBytes);
    if (!text.ok()) continue;
    const absl::StatusOr<history::JobEntry> entry = history::EntryFromJson(*text);
    if (!entry.ok() || entry->name != wish.name || entry->exit_code != 0) continue;
    if (wish.before_millis != 0 && entry->submitted_millis >= wish.before_millis) continue;
    if (!history::OpenRecordFile(folder.job_xml()).ok()) continue;
    const jobfile::Sources sources{.job_file = folder.job_xml(), .working_folder = "/"};
    return web::PreviousRun{entry->job_id, entry->ended_millis,
                            ConfigKeys(jobfile::LoadConfiguration(sources).configuration)};
  }
  return std::nullopt;
}

void PreviousRuns::Find(web::JobSource::TakePrevious take) {
  worker_.Run<std::optional<web::PreviousRun>>(
      nullptr,
      [wish = wish_](const Worker::Stop& stop) -> absl::StatusOr<std::optional<web::PreviousRun>> {
        return FindPreviousRun(wish, stop);
      },
      std::move(take));
}

}  // namespace tony::pagedata
