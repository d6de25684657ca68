// A job is asked to stop through its ApplicationMaster, but its end is read from its folder: the
// watch starts before the question, so that an end in between is not missed.
#include "client/catalog/local_jobs.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "client/jobs/job_connection.h"
#include "common/status_macros.h"
#include "history/job_watch.h"

namespace tony::client {

absl::Status LocalJobs::Stop(const StoredJob& job, const StopWish& wish) {
  if (!job.alive) {
    return absl::NotFoundError(absl::StrCat("job ", job.id, " does not run: ", job.sentence));
  }
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<history::JobWatch> watch,
                        history::JobWatch::Start(job.folder));
  TONY_ASSIGN_OR_RETURN(const std::unique_ptr<rpc::JobClient> client, Connect(job));
  const absl::Status asked = client->Stop(wish.reason, wish.ask_limit);
  // A refusal may only mean that the job has just ended by itself; its folder tells within the
  // second.
  const TimePoint deadline = clock_.Now() + (asked.ok() ? wish.wait : std::chrono::seconds(1));
  while (!watch->over()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.Now());
    if (left.count() <= 0) break;
    TONY_RETURN_IF_ERROR(watch->Wait(left).status());
  }
  if (watch->ended()) return absl::OkStatus();
  if (!asked.ok()) return Annotate(asked, absl::StrCat("job ", job.id, " cannot be asked to end"));
  if (watch->over()) {
    return absl::UnavailableError(
        absl::StrCat("the ApplicationMaster of ", job.id, " went away without a verdict"));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("job ", job.id, " was asked to end, but has not within ", wish.wait.count(),
                   " s; tony status ", job.id, " shows what it waits for"));
}

absl::StatusOr<std::unique_ptr<rpc::JobClient>> LocalJobs::Connect(const StoredJob& job) {
  return ConnectToJob(job.folder);
}

}  // namespace tony::client
