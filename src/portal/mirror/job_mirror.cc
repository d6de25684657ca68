// Names come from the cluster: only those of applications are used, and only as one part of a path.
#include "portal/mirror/job_mirror.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "backend/yarn/application_client.h"
#include "backend/yarn/yarn_job.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/folder_trust.h"
#include "storage/job_folder.h"
#include "storage/job_proof.h"

namespace tony::portal {
namespace {

bool IsApplication(const std::string& name) {
  return storage::IsJobName(name) && backend::IsApplicationId(name);
}

}  // namespace

absl::StatusOr<std::unique_ptr<JobMirror>> JobMirror::Open(const std::string& folder,
                                                           Cluster cluster, const Clock& clock,
                                                           int64_t most_bytes) {
  TONY_ASSIGN_OR_RETURN(os::FolderHandle jobs,
                        os::OpenOrMakeOwnFolder(storage::JobsFolder(folder)));
  return std::unique_ptr<JobMirror>(
      new JobMirror(std::move(jobs), std::move(cluster), clock, most_bytes));
}

absl::StatusOr<std::vector<std::string>> JobMirror::ListThere() {
  if (cluster_.check_owner != nullptr) TONY_RETURN_IF_ERROR(cluster_.check_owner());
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> ids, cluster_.files->List(backend::kJobsFolder));
  std::erase_if(ids, [](const std::string& id) { return !IsApplication(id); });
  return backend::NewestApplications(std::move(ids));
}

void JobMirror::Forget(const std::vector<std::string>& ids, size_t count) {
  const std::set<std::string> kept(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
  std::erase_if(jobs_, [&kept](const auto& job) { return !kept.contains(job.first); });
  const absl::StatusOr<std::vector<std::string>> names = jobs_folder_.List();
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string id(absl::StripPrefix(name, "."));
    if (!IsApplication(id) || kept.contains(id)) continue;
    const absl::Status removed = os::RemoveTree(jobs_folder_.PathOf(name));
    if (!removed.ok()) LogWarning(std::string(removed.message()));
  }
}

absl::Status JobMirror::Look(const std::string& id, Job& job, const std::stop_token& stop) {
  if (job.copy == nullptr) {
    job.copy = std::make_unique<MirroredJob>(jobs_folder_, *cluster_.files, id);
  }
  if (job.copy->complete()) return absl::OkStatus();
  // YARN is asked before the files are read: what was written until the end is there then.
  if (!job.over && answers_ && clock_.Now() >= job.next_question) {
    job.next_question = clock_.Now() + kAskPause;
    const absl::StatusOr<bool> over = cluster_.is_over(id);
    if (!over.ok()) LogDebug("YARN does not say whether a job is over", {{"job", id}});
    job.over = over.value_or(false);
    answers_ = over.ok();  // each question would wait for as long
  }
  return job.copy->Update(job.over, stop);
}

absl::StatusOr<size_t> JobMirror::Round(const std::stop_token& stop) {
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> ids, ListThere());
  absl::Status first;
  answers_ = true;
  int64_t bytes = 0;
  size_t count = 0;
  for (; count < std::min(ids.size(), kMostJobs) && bytes <= most_bytes_; ++count) {
    if (stop.stop_requested()) return absl::CancelledError("the portal ends");
    const std::string& id = ids[count];
    // One that was too much before would be copied, and removed, in each round.
    if (id == too_much_ && count > 0 && bytes + too_much_bytes_ > most_bytes_) break;
    Job& job = jobs_[id];
    const absl::Status looked = Look(id, job, stop);
    // Nothing of the other ones can be had either.
    if (absl::IsUnavailable(looked) || absl::IsCancelled(looked)) return looked;
    first.Update(looked);
    bytes += job.copy->bytes();
  }
  // The one that was too much goes, too; the newest one always stays.
  if (bytes > most_bytes_ && count > 1) {
    too_much_ = ids[--count];
    too_much_bytes_ = jobs_.at(too_much_).copy->bytes();
  }
  Forget(ids, count);
  TONY_RETURN_IF_ERROR(first);
  return ids.size() - count;
}

}  // namespace tony::portal
