// The only place that puts the exit statuses into words.
#include "client/cli/exit_status.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"

namespace tony::client {

ExitMeanings SubmitExits() {
  return {{0, "succeeded"},
          {1, "the program failed"},
          {kBadUsage, "bad usage or a bad job file"},
          {kInfrastructure, "infrastructure (lost nodes, backend errors, time-outs)"},
          {kKilled, "killed"},
          {kNeverFits, "can never fit"}};
}

ExitMeanings UsualVerbExits() {
  return {{kVerbDone, "done"},
          {kVerbNotPossible, "no such job or task"},
          {kVerbBadUsage, "bad usage or a bad job file"},
          {kVerbFailed, "the machine or the job's ApplicationMaster failed"}};
}

ExitMeanings JobVerbExits() {
  return {{0, "succeeded"},
          {1, "the program failed"},
          {kBadUsage, "bad usage or no such job"},
          {kInfrastructure, "infrastructure or no verdict"},
          {kKilled, "killed"},
          {kNeverFits, "can never fit"},
          {kVerbJobGoesOn, "the job goes on"}};
}

ExitMeanings DoctorExits() {
  return {{kVerbDone, "jobs can run"},
          {kVerbNotPossible, "jobs cannot run"},
          {kVerbBadUsage, "bad usage or a bad site file"},
          {kVerbFailed, "the machine failed"}};
}

ExitMeanings ExecExits() {
  return {{kVerbBadUsage, "bad usage"},
          {kVerbExecFailed, "tony could not run the command, or lost it"},
          {126, "the command cannot be executed"},
          {127, "the command is not found"},
          {128,
           "and above: the command was ended by the signal 128 less; all others are the "
           "command's own"}};
}

std::string RenderExitMeanings(const ExitMeanings& exits, int width) {
  const std::string text =
      absl::StrCat("Exit status: ",
                   absl::StrJoin(exits, ", ",
                                 [](std::string* out, const ExitMeaning& exit) {
                                   absl::StrAppend(out, exit.status, " ", exit.meaning);
                                 }),
                   ".");
  return absl::StrCat(absl::StrJoin(WrapToWidth(text, width), "\n"), "\n");
}

}  // namespace tony::client
