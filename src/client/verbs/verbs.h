// Declares the verbs of `tony`, what each takes, and the context in which each runs.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/catalog/job_catalog.h"
#include "client/cli/environment.h"
#include "client/cli/exit_status.h"
#include "client/show/progress_printer.h"
#include "common/clock.h"
#include "common/command_line.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony::client {

/// Verb::max_positionals of a verb that takes any number.
constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

/// The surroundings of a verb. Plain data; `clock` is owned by the caller.
struct VerbContext {
  Environment environment;
  std::string working_folder;  ///< absolute
  std::string machine_file;    ///< see jobfile::Sources; empty: none
  std::string site_file;       ///< empty: none
  Writer out;                  ///< text for people, printed by PrintForPeople()
  Writer bytes;   ///< bytes for the same place, unchanged: JSON, and logs if `terminal` is false
  Writer err;     ///< errors for people, printed like `out`
  Screen screen;  ///< the screen of `out`
  bool terminal = false;  ///< `out` is a terminal
  const Clock* clock = nullptr;
  std::string version;  ///< VersionText(); only programs are linked with it
};

/// One verb. Plain data.
struct Verb {
  std::string name;
  std::string arguments;  ///< for the help, e.g. "[JOB] [TASK]"
  std::string meaning;    ///< one line
  std::string details;    ///< further lines for its help; may be empty
  OptionTable options;    ///< besides --backend, --json, --conf and --help, which all verbs take
  size_t max_positionals = 0;
  /// Returns the exit status, or an error whose message goes to the user: NotFound becomes
  /// kVerbNotPossible, InvalidArgument kVerbBadUsage, all others kVerbFailed.
  absl::StatusOr<int> (*run)(const CommandLine& line, const VerbContext& context);
  ExitMeanings (*exits)() = &UsualVerbExits;  ///< what its exit statuses mean
  std::vector<std::string> aliases = {};      ///< other names, which people type out of habit
  /// Behind `words_before_command` arguments, the first word that is no option begins a command,
  /// whose words all are arguments.
  bool takes_command = false;
  size_t words_before_command = 0;
};

/// The rows of the table of verbs; each verb is in a file of its own (verb_list.cc, …).
Verb ListVerb();
Verb StatusVerb();
Verb LogsVerb();
Verb KillVerb();
Verb OpenVerb();
Verb ValidateVerb();
Verb TopVerb();
Verb StepsVerb();
Verb DoctorVerb();
Verb WaitVerb();
Verb AttachVerb();
Verb RmVerb();
Verb RunVerb();
Verb RerunVerb();
Verb DiffVerb();
Verb AdviseVerb();
Verb ExecVerb();
Verb FeedVerb();
Verb StacksVerb();
Verb ProxyVerb();
Verb NotebookVerb();
Verb PortalVerb();
Verb CompletionVerb();
Verb EventsVerb();

/// Writes a sentence for people to standard error, behind "tony: ".
void Say(const VerbContext& context, const std::string& sentence);

/// The layers of configuration for a verb: site file, `job_file` (may be empty) and --conf.
/// InvalidArgument – a --conf is not of the form KEY=VALUE.
absl::StatusOr<jobfile::Sources> SourcesOf(const CommandLine& line, const VerbContext& context,
                                           const std::string& job_file);

/// The configuration from the site file and --conf. InvalidArgument – a --conf is not of the form
/// KEY=VALUE, or the site file cannot be read.
absl::StatusOr<jobfile::Configuration> ConfigurationOf(const CommandLine& line,
                                                       const VerbContext& context);

/// Opens the catalog of the backend named by --backend, or else by tony.backend; if `wish` is an
/// application's id, the backend is YARN. The codes of ConfigurationOf(), FindCluster() and
/// YarnJobs::Open().
absl::StatusOr<std::unique_ptr<JobCatalog>> OpenJobs(const CommandLine& line,
                                                     const VerbContext& context,
                                                     const std::string& wish);

}  // namespace tony::client
