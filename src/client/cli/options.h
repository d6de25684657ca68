// Parses the command line of tony-submit and translates it into the job's configuration.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/command_line.h"
#include "jobfile/configuration/configuration_loader.h"

namespace tony {
class EventLoop;
}

namespace tony::client {

class ProgressPrinter;

/// Makes a printer that takes the place of the one that the options and the terminal ask for, on
/// the event loop that follows the job.
using MakePrinter = std::function<std::unique_ptr<ProgressPrinter>(EventLoop& loop)>;

/// The options given to tony-submit. Plain data.
struct SubmitOptions {
  std::string job_file;  ///< empty: the job is described by options alone
  /// Configuration keys and values in the order in which they apply: first every --conf, then the
  /// translations of the other options. Keys with several values are given once for each.
  std::vector<jobfile::Override> overrides;
  /// The command line has a job file or keys of a job, of which --debug is none.
  bool names_job = true;
  std::vector<std::string> warnings;  ///< sentences for the user that stop nothing
  bool detach = false;                ///< return the job's id and leave
  bool dry_run = false;               ///< show what would run
  bool json = false;
  bool quiet = false;    ///< only the verdict
  int stop_with = 0;     ///< the parent process whose end stops the job; 0: there is none
  int launcher_fd = -1;  ///< a socket whose other end the job's launcher holds; -1: none was given
  bool all = false;      ///< the table lists each task, also where many are alike
  bool debug = false;    ///< tony.application.log-level=debug, also for tony-submit itself
  bool version = false;
  bool help = false;
  /// The task (worker:0), or the type (worker), whose output is printed while the job runs, instead
  /// of the table; "": all tasks; nothing: no output.
  std::optional<std::string> logs;
  MakePrinter make_printer = nullptr;  ///< null: none

  bool step = false;                     ///< this process is a step of a workflow
  std::string step_key;                  ///< empty: the workflow system names the step
  std::string on_existing = "adopt";     ///< adopt, stop or fail
  std::string summary;                   ///< file for the summary; empty: none
  std::optional<std::string> stop_wait;  ///< how long to stay after a stop; nothing: to the end
};

/// Reads the arguments (without the program's name). With --help or --version nothing else is
/// checked. InvalidArgument – bad usage; the message is for the user and complete.
absl::StatusOr<SubmitOptions> ParseSubmitOptions(const std::vector<std::string>& arguments);

/// The parent process that `option` names ("stop-with"), 0 without that option. InvalidArgument –
/// its value is no process id.
absl::StatusOr<int> ReadParent(const CommandLine& line, const std::string& option);

/// InvalidArgument – the output of the tasks is asked for, and another option rules it out.
absl::Status CheckLogs(const SubmitOptions& options);

/// Parses the `KEY=VALUE` of `option` as an override. InvalidArgument – there is no `=`, or nothing
/// in front of it.
absl::StatusOr<jobfile::Override> ParseOverride(const std::string& option, const std::string& text);

/// The options of tony-submit. Never changes. Thread safe.
const OptionTable& SubmitTable();

/// The text of `tony-submit --help`, wrapped at `width` columns.
std::string RenderSubmitHelp(int width);

}  // namespace tony::client
