// The folder is looked at each time: another visitor's page, or another process, may have had the
// logs copied, and the room that they take may be needed for others.
#include "portal/site/job_log_copy.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "portal/mirror/mirrored_job.h"
#include "portal/mirror/mirrored_logs.h"

namespace tony::portal {

JobLogCopy::JobLogCopy(LogCopies& copies, const Clock& clock, JobKey key, storage::JobFolder folder)
    : copies_(copies), clock_(clock), key_(std::move(key)), folder_(std::move(folder)) {}

void JobLogCopy::Want() {
  wanted_ = true;
  Tick();
}

void JobLogCopy::Tick() {
  if (!wanted_) return;
  const TimePoint now = clock_.Now();
  const LogsHere here = FindMirroredLogs(folder_);
  if (here.copied && now >= next_note_) {
    next_note_ = now + kNotePause;
    NoteUseOfLogs(folder_, clock_);
  }
  const bool whole = here.copied && here.missing.empty();
  if (!whole && MirroredJob::IsComplete(folder_)) copies_.Ask(key_);
}

web::LogsState JobLogCopy::state() const {
  const LogsHere here = FindMirroredLogs(folder_);
  if (here.copied) {
    if (here.missing.empty()) return {true, ""};
    return {true, absl::StrCat("Not all logs were copied: ", here.missing, ".")};
  }
  if (!MirroredJob::IsComplete(folder_)) {
    return {false, "The portal copies them from the cluster when the job has ended."};
  }
  if (copies_.IsCopying(key_)) {
    return {false, "The portal copies them from where YARN has collected them."};
  }
  const std::string why = copies_.WhyNot(key_);
  if (why.empty()) return {false, "The portal has not copied them from the cluster."};
  return {false, absl::StrCat("The portal cannot copy them: ", why, ". It tries again.")};
}

}  // namespace tony::portal
