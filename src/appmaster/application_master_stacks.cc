// What follows when the job makes no progress: its stacks are kept in one file, which has the
// newest two looks. The state machine hears what they have found.
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "appmaster/application_master.h"
#include "common/logging.h"
#include "common/safe_text.h"
#include "core/stacks/stack_groups.h"
#include "core/stacks/stack_text.h"
#include "os/files/files.h"
#include "storage/archived_events.h"

namespace tony::appmaster {

core::HangSettings ApplicationMaster::HangFrom(const jobfile::Configuration& configuration) {
  const std::string action = absl::AsciiStrToLower(configuration.GetText("tony.task.hang-action"));
  core::HangSettings hang;
  if (action == "restart") hang.action = core::HangAction::kRestart;
  if (action == "fail") hang.action = core::HangAction::kFail;
  hang.limit = std::chrono::duration_cast<std::chrono::milliseconds>(
      configuration.GetDuration("tony.task.hang-limit-ms"));
  return hang;
}

void ApplicationMaster::KeepStacks(const core::effect::KeepStacks& wish) {
  if (alerts_ != nullptr && !wish.again) alerts_->OnHang(wish.why);
  stacks_->Collect({}, [this, wish](const absl::StatusOr<core::StackReport>& report) {
    if (report.ok()) return OnStacks(wish, *report);
    RecordNote(absl::StrCat(
        wish.why, "; its stacks cannot be taken: ", std::string(report.status().message())));
  });
}

// The note is written after the file, so that it never names one that is not there. A second look
// is appended: what has moved between the two tells a slow job from one that hangs.
void ApplicationMaster::OnStacks(const core::effect::KeepStacks& wish,
                                 const core::StackReport& report) {
  const std::vector<core::StackGroup> groups =
      core::GroupStacks(report, core::GroupBy::kMainThread);
  core::input::StacksKept found{.suspect = core::SuspectTask(report, groups)};
  std::string note = wish.why;
  const std::string suspect = core::SuspectSentence(report, groups);
  if (!suspect.empty()) absl::StrAppend(&note, "; ", SafeText(suspect));
  if (wish.again) {
    core::Movement movement = core::CompareStacks(kept_stacks_, report);
    absl::StrAppend(&note, "; ", movement.moved, " of ", movement.compared,
                    " processes are at another place than before");
    found.moved = std::move(movement.tasks);
  }
  std::string text = absl::StrCat(
      SafeText(note), "\n\n", SafeLines(core::StackText(report, core::GroupBy::kAllThreads)), "\n");
  kept_stacks_ = report;
  const std::string folder = platform_->own_log_folder().empty() ? platform_->folder().logs()
                                                                 : platform_->own_log_folder();
  const std::string path = absl::StrCat(folder, "/", storage::kStacksFile);
  const std::string both = wish.again ? kept_text_ + text : text;
  const absl::Status kept = os::WriteFileAtomically(path, both);
  // This container's logs go with YARN's; what lists and pages show lies with the job's records.
  if (archive_ != nullptr) archive_->KeepFile(storage::kStacksFile, both);
  kept_text_ = std::move(text);
  if (!kept.ok()) LogWarning("the stacks are not kept", {{"why", kept.message()}});
  RecordNote(kept.ok() ? absl::StrCat(note, "; all stacks are in ", path) : note);
  // Not at once: this may be called while the effects of another input are carried out.
  loop_.Post([this, found = std::move(found)] { Take(found); });
}

}  // namespace tony::appmaster
