// The exit statuses of tony-submit and tony, and their meanings for helps and manual pages.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// Exit statuses of tony-submit besides those of verdicts (core::ExitCode()).
enum SubmitExit {
  kBadUsage = 2,
  kInfrastructure = 3,
  kKilled = 4,
  kNeverFits = 5,
};

/// Exit statuses of the verbs.
enum VerbExit {
  kVerbDone = 0,
  kVerbNotPossible = 1,  ///< no such job or task
  kVerbBadUsage = 2,     ///< also: the job file is not valid
  kVerbFailed = 3,       ///< the machine or the job's ApplicationMaster failed
  /// `tony wait` and the like, which otherwise end with tony-submit's exit status: the job goes on.
  kVerbJobGoesOn = 6,
  /// `tony exec`, which otherwise ends with the command's exit status: the command was not run, or
  /// its end is not known.
  kVerbExecFailed = 125,
};

/// One exit status and what it means, half a sentence. Plain data.
struct ExitMeaning {
  int status = 0;
  std::string meaning;
};
using ExitMeanings = std::vector<ExitMeaning>;

/// The meanings for tony-submit, for most verbs, for verbs that end as tony-submit does, and for
/// `tony doctor` and `tony exec`, in the order of the statuses.
ExitMeanings SubmitExits();
ExitMeanings UsualVerbExits();
ExitMeanings JobVerbExits();
ExitMeanings DoctorExits();
ExitMeanings ExecExits();

/// "Exit status: 0 done, 1 …." as lines of at most `width` columns.
std::string RenderExitMeanings(const ExitMeanings& exits, int width);

}  // namespace tony::client
