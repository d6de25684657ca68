// `tony run`: runs a program of this folder in several tasks, without a job file.
//
// The job is tony-submit's, with keys that would stand in a job file, and followed with --logs.

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/options.h"
#include "client/cli/python_program.h"
#include "client/jobs/program_folder.h"
#include "client/jobs/remove_job.h"
#include "client/submit/submit_command.h"
#include "client/verbs/verbs.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "jobfile/keys/key_table.h"
#include "os/archives/archive_writer.h"
#include "os/files/files.h"

namespace tony::client {
namespace {

/// A whole number of at least `least` as the value of an option. InvalidArgument – it is none.
absl::Status CheckNumber(const CommandLine& line, const std::string& option, int least,
                         const std::string& example) {
  int number = 0;
  if (!line.Has(option)) return absl::OkStatus();
  if (absl::SimpleAtoi(line.Value(option), &number) && number >= least) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("-", option, " '", line.Value(option), "' is no number of ", example));
}

/// Checks that the script is where the tasks will look for it.
absl::Status CheckScript(const PythonProgram& program, const std::string& folder) {
  if (program.script.empty()) return absl::OkStatus();
  std::error_code ignored;
  if (!std::filesystem::exists(program.script_path, ignored)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no ", program.script, " in ", folder,
                     "; name the script as it is seen from this folder"));
  }
  if (absl::StartsWith(program.script, "../")) {
    return absl::InvalidArgumentError(
        absl::StrCat(program.script,
                     " is outside of this folder, which is what each task gets; "
                     "go into its folder"));
  }
  return absl::OkStatus();
}

/// What is packed for the tasks. Not thread safe.
class Program {
 public:
  Program(const CommandLine& line, const VerbContext& context) : line_(line), context_(context) {}
  ~Program() {
    if (!archive_folder_.empty()) (void)os::RemoveTree(archive_folder_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Checks the folder and says what is packed. InvalidArgument – it is too large, or cannot be
  /// packed.
  absl::Status Prepare() {
    if (line_.Has("src_dir")) {
      path_ = line_.Value("src_dir");
      return absl::OkStatus();
    }
    path_ = context_.working_folder;
    const ProgramFolder folder = MeasureProgram(path_);
    if (!line_.Has("large")) TONY_RETURN_IF_ERROR(CheckProgramSize(folder, path_));
    std::string without;
    if (!folder.environments.empty()) {
      without = absl::StrCat(" without ", absl::StrJoin(folder.environments, ", "));
      TONY_RETURN_IF_ERROR(PackWithout(folder.environments));
    }
    Say(context_,
        absl::StrCat("each task gets a copy of this folder", without, ": ", folder.files,
                     folder.files == 1 ? " file, " : " files, ", FormatBytes(folder.bytes)));
    return absl::OkStatus();
  }

  const std::string& path() const { return path_; }

 private:
  /// A virtual environment's links lead out of the folder, so an archive is made that lacks it.
  absl::Status PackWithout(const std::vector<std::string>& names) {
    std::string folder = (std::filesystem::temp_directory_path() / "tony-run-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return os::ErrnoError(errno, folder);
    archive_folder_ = folder;
    os::PackOptions options;
    options.skip_names.insert(options.skip_names.end(), names.begin(), names.end());
    const std::string archive = absl::StrCat(folder, "/program.tar.zst");
    TONY_RETURN_IF_ERROR(os::PackFolder(path_, archive, options).status());
    path_ = archive;
    return absl::OkStatus();
  }

  const CommandLine& line_;
  const VerbContext& context_;
  std::string path_;
  std::string archive_folder_;
};

/// The interpreter of a virtual environment that is named from this folder, as an absolute path:
/// the tasks' copies of the folder lack it.
void NameInterpreter(PythonProgram& program, const std::string& folder) {
  std::string& word = program.words[0];
  std::error_code ignored;
  const std::filesystem::path path = std::filesystem::path(folder) / word;
  const bool of_environment =
      std::filesystem::exists(path.parent_path().parent_path() / "pyvenv.cfg", ignored);
  if (absl::StrContains(word, "/") && word[0] != '/' && of_environment) word = path.string();
}

bool SetsFramework(const std::vector<jobfile::Override>& overrides) {
  for (const jobfile::Override& conf : overrides) {
    if (conf.key == "tony.application.framework") return true;
  }
  return false;
}

/// The options of tony-submit that run `program` from `src_dir`.
absl::StatusOr<SubmitOptions> MakeOptions(const CommandLine& line, const VerbContext& context,
                                          const PythonProgram& program,
                                          const std::string& src_dir) {
  SubmitOptions options;
  TONY_ASSIGN_OR_RETURN(const jobfile::Sources sources, SourcesOf(line, context, ""));
  options.json = line.Has("json");
  options.detach = line.Has("detach");
  const auto set = [&options](const std::string& key, const std::string& value,
                              const std::string& origin) {
    options.overrides.push_back({key, value, origin});
  };
  const std::string script = std::filesystem::path(program.script).filename().string();
  const std::string name = script.empty() ? program.words[0] : script;
  set("tony.application.name", name, "tony run");
  set("tony.application.src-dir", src_dir, line.Has("src_dir") ? "--src_dir" : "tony run");
  set("tony.containers.command", ShellLine(program.words), "tony run");
  set("tony.worker.instances", line.Has("np") ? line.Value("np") : "1", "-np");
  if (line.Has("gpus")) set("tony.worker.gpus", line.Value("gpus"), "--gpus");
  if (line.Has("memory")) set("tony.worker.memory", line.Value("memory"), "--memory");
  if (line.Has("framework")) {
    set("tony.application.framework", line.Value("framework"), "--framework");
  } else if (!SetsFramework(sources.overrides)) {
    const FrameworkGuess guess = GuessFramework(program);
    set("tony.application.framework", guess.name, "tony run");
    Say(context, absl::StrCat("framework ", guess.name, ", as ", guess.reason,
                              " (--framework chooses another)"));
  }
  // The user's own --conf come last, and so are stronger.
  options.overrides.insert(options.overrides.end(), sources.overrides.begin(),
                           sources.overrides.end());
  return options;
}

absl::StatusOr<int> Run(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) {
    return absl::InvalidArgumentError(
        "name the program and its arguments: tony run -np 2 python3 train.py");
  }
  TONY_RETURN_IF_ERROR(CheckNumber(line, "np", 1, "tasks; write -np 2"));
  TONY_RETURN_IF_ERROR(CheckNumber(line, "gpus", 0, "GPUs; write --gpus 1"));
  const std::string folder = context.working_folder;
  PythonProgram program = FindPythonProgram(line.positionals, folder);
  if (!line.Has("src_dir")) TONY_RETURN_IF_ERROR(CheckScript(program, folder));
  NameInterpreter(program, folder);
  Program packed(line, context);
  TONY_RETURN_IF_ERROR(packed.Prepare());
  TONY_ASSIGN_OR_RETURN(SubmitOptions options, MakeOptions(line, context, program, packed.path()));
  if (!options.json && !options.detach) options.logs = "";
  RaiseOpenFiles();
  return RunSubmit(options, context.environment);
}

}  // namespace

Verb RunVerb() {
  return {
      "run",
      "COMMAND…",
      "run a program of this folder in several tasks, without a job file",
      "Runs COMMAND in each task, in a copy of this folder, and prints what the tasks print, "
      "each line\nbehind its task's name, and the verdict. Ctrl-C stops the job. The framework "
      "decides which\nvariables the tasks find (RANK, TF_CONFIG, …); it is guessed from the "
      "script's imports.\nA command of one Python script may leave python3 out.\n",
      {{"np", "N", false, "how many tasks; 1 unless given", "n"},
       {"gpus", "N", false, "GPUs of each task"},
       {"memory", "SIZE", false, "memory of each task, e.g. 4g"},
       {.name = "framework",
        .value = "NAME",
        .meaning = "tensorflow, pytorch, jax, horovod, mxnet or standalone",
        .choices = jobfile::ChoicesOf("tony.application.framework")},
       {"src_dir", "PATH", false, "folder or archive with the program; this folder unless given"},
       {"large", "", false, "also a folder of more than 512 MiB or 20000 files"},
       {"detach", "", false, "print the job's id and return while the job goes on"}},
      kAnyNumber,
      &Run,
      &JobVerbExits,
      {},
      true};
}

}  // namespace tony::client
