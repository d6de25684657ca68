// Each option is translated into an override of a configuration key that keeps the option's name as
// its origin, so that later errors can name the option. The rows have no store: overrides apply in
// an order of their own, and a command is composed of four options, so the whole line is needed.
#include "client/cli/options.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backend/launcher/packet_socket.h"
#include "client/cli/exit_status.h"
#include "client/cli/keys_file.h"
#include "client/cli/python_program.h"
#include "common/command_line.h"
#include "common/status_macros.h"
#include "jobfile/keys/key_table.h"
#include "jobfile/values/paths.h"
#include "jobfile/values/resource_grammar.h"
#include "jobfile/values/values.h"
#include "jobfile/xml/files.h"

namespace tony::client {
namespace {

constexpr char kFlag[] = "";

/// Options whose values are stored under a key unchanged.
struct PlainOption {
  const char* name;
  const char* key;
};
constexpr PlainOption kPlainOptions[] = {
    {"backend", "tony.backend"},
    {"src_dir", "tony.application.src-dir"},
    {"python_venv", "tony.application.python-venv"},
    {"python_binary_path", "tony.application.python-binary-path"},
    {"sidecar_tensorboard_log_dir", "tony.application.tensorboard-log-dir"},
};

/// Options whose NAME=VALUE becomes an item of the list under a key.
constexpr PlainOption kVariableOptions[] = {
    {"shell_env", "tony.execution.envs"},
    {"container_env", "tony.containers.envs"},
};

/// For a user who gave the program as an argument: the command lines that run it.
absl::Status ProgramIsNoJobFile(const std::vector<std::string>& words) {
  std::error_code ignored;
  const std::string folder = std::filesystem::current_path(ignored).string();
  const PythonProgram program = FindPythonProgram(words, folder);
  const std::string command = ShellLine(program.words);
  return absl::InvalidArgumentError(absl::StrCat(
      "'", words[0],
      "' is no job file. Two ways to run this program in two tasks:\n  tony run -np 2 ", command,
      "\n  tony-submit --executes ", ShellLine({command}),
      " --src_dir . --conf tony.worker.instances=2 --conf tony.application.framework=",
      GuessFramework(program).name));
}

absl::StatusOr<std::string> JobFile(const CommandLine& line) {
  std::vector<std::string> files = line.Values("conf_file");
  const std::vector<std::string>& words = line.positionals;
  const auto some = [&words](const char* end) {
    return std::any_of(words.begin(), words.end(),
                       [end](const std::string& word) { return absl::EndsWith(word, end); });
  };
  if (files.empty() && !line.Has("executes") && some(".py") && !some(".xml")) {
    return ProgramIsNoJobFile(words);
  }
  for (const std::string& word : line.positionals) {
    if (!absl::EndsWith(word, ".xml")) {
      return absl::InvalidArgumentError(
          absl::StrCat("unexpected argument '", word,
                       "'; name the program with --executes and put its parameters into "
                       "--task_params='…'; a job file "
                       "whose name does not end in .xml is named with --conf_file"));
    }
    files.push_back(word);
  }
  if (files.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("two job files: '", files[0], "' and '", files[1],
                     "'; give one, and change single keys with --conf"));
  }
  if (files.size() == 1 && files[0].empty()) {
    return absl::InvalidArgumentError("--conf_file is empty; name the job file");
  }
  return files.empty() ? std::string() : files[0];
}

/// The command of all containers; nothing without --executes.
absl::StatusOr<std::optional<std::string>> ComposeCommand(const CommandLine& line) {
  if (!line.Has("executes")) {
    if (line.Has("task_params")) {
      return absl::InvalidArgumentError(
          "--task_params has no effect without --executes; give the command with --executes");
    }
    if (line.Has("python_binary_path")) {
      return absl::InvalidArgumentError(
          "--python_binary_path goes in front of --executes, which is not given; give the command "
          "with --executes, or name the interpreter in the job file's command");
    }
    return std::optional<std::string>();
  }
  std::string interpreter = line.Value("python_binary_path");
  if (!interpreter.empty() && interpreter[0] != '/' && line.Has("python_venv")) {
    // A relative interpreter is inside the virtual environment, which each task finds as venv/.
    interpreter = absl::StrCat("venv/", interpreter);
  }
  std::string command = line.Value("executes");
  if (command.empty())
    return absl::InvalidArgumentError("--executes is empty; name the command to run");
  if (!interpreter.empty()) command = absl::StrCat(interpreter, " ", command);
  if (!line.Value("task_params").empty()) absl::StrAppend(&command, " ", line.Value("task_params"));
  return std::optional<std::string>(command);
}

/// Adds each existing resource of --hdfs_classpath, and a warning for each missing one. Resources
/// on another file system are not checked here.
void AddClassPath(const CommandLine& line, SubmitOptions& options) {
  for (const std::string& item : jobfile::SplitList(line.Value("hdfs_classpath"))) {
    const absl::StatusOr<core::ResourceEntry> entry = jobfile::ParseResource(item);
    const std::string source = entry.ok() ? entry->source : item;
    const absl::Status readable =
        jobfile::UriScheme(source).empty()
            ? jobfile::CheckReadable(jobfile::ResolvePath(source, ".", ""))
            : absl::OkStatus();
    if (!readable.ok()) {
      options.warnings.push_back(absl::StrCat("--hdfs_classpath: '", source, "' ",
                                              std::string(readable.message()), "; it is skipped"));
      continue;
    }
    options.overrides.push_back(
        {"tony.containers.resources", jobfile::EscapeListItem(item), "--hdfs_classpath"});
  }
}

absl::Status AddOverrides(const CommandLine& line, SubmitOptions& options) {
  if (line.Has("keys")) {
    TONY_ASSIGN_OR_RETURN(options.overrides, ReadKeysFile(line.Value("keys")));
  }
  for (const std::string& text : line.Values("conf")) {
    TONY_ASSIGN_OR_RETURN(jobfile::Override conf, ParseOverride("--conf", text));
    options.overrides.push_back(std::move(conf));
  }
  // Overrides of the other options apply after every --conf.
  TONY_ASSIGN_OR_RETURN(const std::optional<std::string> command, ComposeCommand(line));
  if (command) options.overrides.push_back({"tony.containers.command", *command, "--executes"});
  for (const PlainOption& option : kPlainOptions) {
    if (!line.Has(option.name)) continue;
    options.overrides.push_back(
        {option.key, line.Value(option.name), absl::StrCat("--", option.name)});
  }
  for (const PlainOption& option : kVariableOptions) {
    const std::string name = absl::StrCat("--", option.name);
    for (const std::string& text : line.Values(option.name)) {
      TONY_RETURN_IF_ERROR(ParseOverride(name, text).status());
      options.overrides.push_back({option.key, jobfile::EscapeListItem(text), name});
    }
  }
  AddClassPath(line, options);
  return absl::OkStatus();
}

}  // namespace

// Longer than 60 lines because it is a table with a row for each option.
const OptionTable& SubmitTable() {
  static const OptionTable table = {
      {"conf_file", "FILE", false, "the job file (XML); the same as naming it without an option"},
      {"conf", "KEY=VALUE", true, "a configuration key, stronger than every file; adds to lists"},
      {"keys", "FILE", false,
       "a JSON object of configuration keys, applied before every --conf; - is standard input, "
       "which other users cannot read as they can options"},
      {"executes", "COMMAND", false,
       "what each task runs; --python_binary_path goes in front, --task_params behind"},
      {"task_params", "TEXT", false, "appended to the command of --executes as it is"},
      {"src_dir", "PATH", false,
       "folder or archive with the program, laid into each task's working folder"},
      {"python_venv", "PATH", false,
       "virtual environment (zip or folder), found as venv/ by each task"},
      {"python_binary_path", "PATH", false,
       "the Python interpreter: absolute, or inside the virtual environment"},
      {"shell_env", "NAME=VALUE", true, "a variable for the user's processes"},
      {"container_env", "NAME=VALUE", true, "a variable for the containers"},
      {"hdfs_classpath", "PATHS", false,
       "comma list of files and folders for every container; missing ones are skipped with a "
       "warning"},
      {"sidecar_tensorboard_log_dir", "PATH", false,
       "starts TensorBoard beside the job on this log folder"},
      {.name = "backend",
       .value = "NAME",
       .meaning =
           "where the job runs: local, this machine; yarn, a Hadoop cluster; launcher, where "
           "the program that starts tony-submit starts executors",
       .choices = jobfile::ChoicesOf("tony.backend")},
      {"detach", kFlag, false, "print the job's id and return while the job goes on"},
      {"dry-run", kFlag, false, "check everything and print what would run, without running it"},
      {"json", kFlag, false,
       "print events, or the dry run, as JSON; with --quiet the job's id, and then its verdict"},
      {"quiet", kFlag, false, "print the verdict only"},
      {"all", kFlag, false, "list each task in the table, also where many are alike"},
      {.name = "logs",
       .value = "TASK",
       .meaning = "print what the tasks print instead of the table, each line behind its task's "
                  "name, and then the verdict; of one task (worker:0) or type (worker), or of all",
       .optional = true},
      {"step", kFlag, false,
       "run as a step of a workflow (by itself inside of Airflow and Azkaban): plain lines, with "
       "what the tasks print, and no second job beside that of an earlier attempt"},
      {"step-key", "TEXT", false,
       "names the step without its attempt: workflow, execution and step; implies --step"},
      {.name = "on-existing",
       .value = "ACTION",
       .meaning = "when a job of the step runs already: adopt it, stop it first, or fail",
       .choices = {"adopt", "stop", "fail"}},
      {"summary", "FILE", false, "write the job's id, links and verdict there as JSON"},
      {"stop-wait", "SECONDS", false,
       "after a signal that stops the job, wait so long for its end (also 500ms, 2m); to the end "
       "unless given"},
      {"stop-with", "PID", false,
       "stop the job when the process PID ends, which started this program"},
      {"launcher-fd", "NUMBER", false,
       "with --backend launcher: the descriptor of a Unix socket (SOCK_SEQPACKET), by which the "
       "program that starts tony-submit takes orders"},
      {"debug", kFlag, false,
       "tony's own programs log everything: the same as --conf tony.application.log-level=debug"},
      {"version", kFlag, false, "print the version"},
      {"help", kFlag, false, "print this text", "h"},
  };
  return table;
}

absl::StatusOr<jobfile::Override> ParseOverride(const std::string& option,
                                                const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " '", text, "' is not of the form NAME=VALUE; write ", option, " ",
                     equals == 0 ? "NAME" : text, "=VALUE"));
  }
  return jobfile::Override{text.substr(0, equals), text.substr(equals + 1), option};
}

/// The class in what follows `java` in TonY's own command lines, `-cp … com.linkedin.tony.cli.CLASS
/// …`; the end of `arguments`: it is no such line. The class is the first argument that is no
/// option of java's, so that the value of one of tony's options is never taken for it.
std::vector<std::string>::const_iterator FindJavaClass(const std::vector<std::string>& arguments) {
  static constexpr const char* kClassPath[] = {"-cp", "-classpath", "--class-path"};
  auto next = arguments.begin();
  while (next != arguments.end() && absl::StartsWith(*next, "-")) {
    const bool has_value =
        std::find(std::begin(kClassPath), std::end(kClassPath), *next) != std::end(kClassPath);
    // java's other options have no value of their own: -Xmx1g, -Dname=value.
    if (!has_value && !absl::StartsWith(*next, "-X") && !absl::StartsWith(*next, "-D")) {
      return arguments.end();
    }
    ++next;
    if (has_value && next != arguments.end()) ++next;
  }
  const bool is_class = next != arguments.end() && absl::StartsWith(*next, "com.linkedin.tony.");
  return is_class ? next : arguments.end();
}

/// InvalidArgument – the arguments are a command line of Java; the message says what to type
/// instead.
absl::Status CheckNotForJava(const std::vector<std::string>& arguments) {
  const auto java_class = FindJavaClass(arguments);
  if (java_class == arguments.end()) return absl::OkStatus();
  std::vector<std::string> words = {"tony-submit"};
  words.insert(words.end(), std::next(java_class), arguments.end());
  return absl::InvalidArgumentError(absl::StrCat(
      "this is a command line of Java; leave out -cp and the class: ", ShellLine(words)));
}

absl::StatusOr<int> ReadParent(const CommandLine& line, const std::string& option) {
  if (!line.Has(option)) return 0;
  int parent = 0;
  if (absl::SimpleAtoi(line.Value(option), &parent) && parent > 0) return parent;
  return absl::InvalidArgumentError(
      absl::StrCat("--", option, " '", line.Value(option),
                   "' is no process id; write that of the process that starts this program, $$ in "
                   "a shell"));
}

/// InvalidArgument – the value of --stop-with is no process, or is beside an option that it
/// contradicts.
absl::Status ReadStopWith(const CommandLine& line, SubmitOptions& options) {
  TONY_ASSIGN_OR_RETURN(options.stop_with, ReadParent(line, "stop-with"));
  if (options.detach && options.stop_with > 0) {
    return absl::InvalidArgumentError(
        "--stop-with has no effect with --detach, after which the job is nobody's; leave one of "
        "the two out");
  }
  return absl::OkStatus();
}

/// InvalidArgument – the value of --launcher-fd is no descriptor, or the job could outlive it.
absl::Status ReadLauncher(const CommandLine& line, SubmitOptions& options) {
  if (!line.Has("launcher-fd")) return absl::OkStatus();
  if (!absl::SimpleAtoi(line.Value("launcher-fd"), &options.launcher_fd)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--launcher-fd '", line.Value("launcher-fd"), "' is no descriptor"));
  }
  TONY_RETURN_IF_ERROR(
      Annotate(backend::PacketSocket::Check(options.launcher_fd), "--launcher-fd"));
  if (options.detach) {
    return absl::InvalidArgumentError(
        "--launcher-fd excludes --detach: the job ends with its launcher");
  }
  return absl::OkStatus();
}

absl::Status CheckLogs(const SubmitOptions& options) {
  if (!options.logs) return absl::OkStatus();
  if (options.detach) {
    return absl::InvalidArgumentError(
        "--logs has no effect with --detach, which returns before the job runs; leave --logs out, "
        "and tony logs -f shows the output");
  }
  if (options.json || options.quiet) {
    return absl::InvalidArgumentError(absl::StrCat("--logs prints what the tasks print, and ",
                                                   options.json ? "--json" : "--quiet",
                                                   " excludes that; leave one of the two out"));
  }
  return absl::OkStatus();
}

/// Recognizes the arguments of horovodrun and mpirun, `-np 2 python train.py`. InvalidArgument –
/// they are such; the message says what to type instead.
absl::Status CheckNotForRun(const std::vector<std::string>& arguments) {
  if (arguments.empty() || (arguments[0] != "-np" && arguments[0] != "--np")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("tony-submit has no ", arguments[0],
                                                 "; to run a program in several tasks: tony run ",
                                                 ShellLine(arguments)));
}

absl::StatusOr<SubmitOptions> ParseSubmitOptions(const std::vector<std::string>& arguments) {
  TONY_RETURN_IF_ERROR(CheckNotForJava(arguments));
  TONY_RETURN_IF_ERROR(CheckNotForRun(arguments));
  TONY_ASSIGN_OR_RETURN(const CommandLine line, SplitCommandLine(SubmitTable(), arguments));
  SubmitOptions options;
  options.help = line.Has("help");
  options.version = line.Has("version");
  if (options.help || options.version) return options;
  options.detach = line.Has("detach");
  options.dry_run = line.Has("dry-run");
  options.json = line.Has("json");
  options.quiet = line.Has("quiet");
  options.all = line.Has("all");
  options.step = line.Has("step") || line.Has("step-key");
  options.step_key = line.Value("step-key");
  if (line.Has("on-existing")) options.on_existing = line.Value("on-existing");
  options.summary = line.Value("summary");
  if (line.Has("stop-wait")) options.stop_wait = line.Value("stop-wait");
  if (line.Has("step-key") && options.step_key.empty()) {
    return absl::InvalidArgumentError(
        "--step-key is empty; name workflow, execution and step, without the attempt");
  }
  if (line.Has("logs")) options.logs = line.Value("logs");
  TONY_RETURN_IF_ERROR(CheckLogs(options));
  TONY_RETURN_IF_ERROR(ReadStopWith(line, options));
  TONY_RETURN_IF_ERROR(ReadLauncher(line, options));
  options.debug = line.Has("debug");
  TONY_ASSIGN_OR_RETURN(options.job_file, JobFile(line));
  TONY_RETURN_IF_ERROR(AddOverrides(line, options));
  options.names_job = !options.job_file.empty() || !options.overrides.empty();
  if (options.debug)
    options.overrides.push_back({"tony.application.log-level", "debug", "--debug"});
  return options;
}

std::string RenderSubmitHelp(int width) {
  return absl::StrCat(
      "Usage: tony-submit [OPTIONS] [job.xml]\n"
      "Runs a distributed job, follows it, and ends with its verdict. Ctrl-C stops the job.\n\n"
      "Options, with one or two dashes, as --name=VALUE or --name VALUE:\n",
      RenderOptionTable(SubmitTable(), width), "\n", RenderExitMeanings(SubmitExits(), width));
}

}  // namespace tony::client
