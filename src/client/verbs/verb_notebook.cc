// `tony notebook`: runs Jupyter as a job of one task, and opens it through the job's tunnel.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/options.h"
#include "client/cli/terminal.h"
#include "client/jobs/job_json.h"
#include "client/jobs/program_folder.h"
#include "client/show/notice_printer.h"
#include "client/submit/submit_command.h"
#include "client/verbs/notebook_printer.h"
#include "client/verbs/running_task.h"
#include "client/verbs/verbs.h"
#include "common/process_setup.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "web/access/code_access.h"

namespace tony::client {
namespace {

/// The file in the task's working folder that has the token; hidden from the notebook's list.
constexpr char kTokenFile[] = ".jupyter-token";

/// Runs in the task; $TONY_NOTEBOOK_PYTHON and $TONY_NOTEBOOK_FOLDER say how and where.
constexpr char kScript[] = R"sh(
python=$TONY_NOTEBOOK_PYTHON
command -v "$python" > /dev/null || {
  echo "tony notebook: there is no $python here; --python names another one" >&2
  exit 127
}
for module in jupyterlab notebook; do
  "$python" -c "import importlib.util, sys; sys.exit(not importlib.util.find_spec('$module'))" &&
    break
  module=
done
[ -n "$module" ] || {
  echo "tony notebook: $("$python" -c 'import sys; print(sys.executable)') has neither jupyterlab" \
    "nor notebook; install one with: $python -m pip install jupyterlab" >&2
  exit 1
}
chmod 600 .jupyter-token
export JUPYTER_TOKEN_FILE="$PWD/.jupyter-token" JUPYTER_RUNTIME_DIR="$PWD/.jupyter-runtime"
root=
[ "$(id -u)" != 0 ] || root=--allow-root
cd "${TONY_NOTEBOOK_FOLDER:-$PWD}" || exit 1
exec "$python" -m "$module" --no-browser $root --ServerApp.ip=127.0.0.1 \
  --ServerApp.port="$TB_PORT" --ServerApp.port_retries=0 --ServerApp.root_dir="$PWD"
)sh";

/// A file with the token, which travels to the task as a resource: arguments, environments and job
/// files are no place for secrets. Removed with this object. Not thread safe.
class TokenFile {
 public:
  TokenFile() : token_(web::RandomToken()) {}
  ~TokenFile() {
    if (!folder_.empty()) (void)os::RemoveTree(folder_);
  }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  /// Errno codes – it cannot be written.
  absl::Status Write() {
    std::string folder = (std::filesystem::temp_directory_path() / "tony-notebook-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return os::ErrnoError(errno, folder);
    folder_ = folder;
    return os::WriteFileAtomically(path(), token_);
  }

  std::string path() const { return absl::StrCat(folder_, "/", kTokenFile); }
  const std::string& token() const { return token_; }

 private:
  const std::string token_;
  std::string folder_;
};

/// The folder that the notebook shows, as an absolute path. InvalidArgument – it is none.
absl::StatusOr<std::string> ReadFolder(const CommandLine& line, const VerbContext& context) {
  if (line.positionals.empty()) return context.working_folder;
  const std::filesystem::path path =
      std::filesystem::path(context.working_folder) / line.positionals[0];
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat("'", line.positionals[0], "' is no folder"));
  }
  return std::filesystem::canonical(path, error).string();
}

/// An interpreter that is named by its path means the same from the task's folder.
std::string PythonOf(const CommandLine& line, const VerbContext& context) {
  const std::string python = line.Has("python") ? line.Value("python") : "python3";
  if (python.find('/') == std::string::npos) return python;
  return (std::filesystem::path(context.working_folder) / python).lexically_normal().string();
}

/// The options of tony-submit that run Jupyter. On this machine it shows the folder itself, and
/// what is changed there stays. A cluster's task gets a copy.
absl::StatusOr<SubmitOptions> MakeOptions(const CommandLine& line, const VerbContext& context,
                                          const TokenFile& token) {
  TONY_ASSIGN_OR_RETURN(const std::string folder, ReadFolder(line, context));
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  TONY_ASSIGN_OR_RETURN(const jobfile::Sources sources, SourcesOf(line, context, ""));
  SubmitOptions options;
  const auto set = [&options](const std::string& key, const std::string& value,
                              const std::string& origin) {
    options.overrides.push_back({key, value, origin});
  };
  set("tony.application.name", "notebook", "tony notebook");
  set("tony.application.framework", "standalone", "tony notebook");
  set("tony.notebook.instances", "1", "tony notebook");
  set("tony.notebook.command", kScript, "tony notebook");
  set("tony.notebook.resources", token.path(), "tony notebook");
  set("tony.execution.envs", absl::StrCat("TONY_NOTEBOOK_PYTHON=", PythonOf(line, context)),
      "--python");
  if (absl::AsciiStrToLower(configuration.GetText("tony.backend")) == "local") {
    set("tony.execution.envs", absl::StrCat("TONY_NOTEBOOK_FOLDER=", folder), "tony notebook");
  } else {
    TONY_RETURN_IF_ERROR(CheckProgramSize(MeasureProgram(folder), folder));
    set("tony.application.src-dir", folder, "tony notebook");
    context.err(
        "tony: the notebook gets a copy of the folder, which goes with the job; save elsewhere "
        "what "
        "is to stay\n");
  }
  if (line.Has("gpus")) set("tony.notebook.gpus", line.Value("gpus"), "--gpus");
  if (line.Has("memory")) set("tony.notebook.memory", line.Value("memory"), "--memory");
  // The user's own --conf come last, and so are stronger.
  options.overrides.insert(options.overrides.end(), sources.overrides.begin(),
                           sources.overrides.end());
  return options;
}

absl::StatusOr<int> RunNotebook(const CommandLine& line, const VerbContext& context) {
  NotebookPrinter::Options opening;
  if (line.Has("port")) {
    TONY_ASSIGN_OR_RETURN(opening.port, ParsePort("--port", line.Value("port"), 8888));
  }
  TokenFile token;
  TONY_RETURN_IF_ERROR(token.Write());
  TONY_ASSIGN_OR_RETURN(SubmitOptions options, MakeOptions(line, context, token));
  opening.err = context.err;
  opening.connect = [&](const std::string& id) -> absl::StatusOr<std::unique_ptr<rpc::JobClient>> {
    TONY_ASSIGN_OR_RETURN(const std::unique_ptr<JobCatalog> jobs, OpenJobs(line, context, id));
    TONY_ASSIGN_OR_RETURN(const StoredJob job, jobs->Find(id));
    return jobs->Connect(job);
  };
  opening.on_open = [&](int port) {
    const std::string url = absl::StrCat("http://127.0.0.1:", port, "/?token=", token.token());
    line.Has("json") ? context.bytes(DumpJsonLine({{"url", url}}))
                     : context.out(absl::StrCat(url, "\n"));
    context.err("tony: the notebook is there until Ctrl-C\n");
  };
  options.make_printer = [&](EventLoop& loop) -> std::unique_ptr<ProgressPrinter> {
    const auto screen = [&context] { return DescribeScreen(STDOUT_FILENO, context.environment); };
    auto notices =
        std::make_unique<NoticePrinter>(context.err, context.err, screen, *context.clock);
    return std::make_unique<NotebookPrinter>(loop, std::move(notices), opening);
  };
  RaiseOpenFiles();
  return RunSubmit(options, context.environment);
}

}  // namespace

Verb NotebookVerb() {
  return {"notebook",
          "[FOLDER]",
          "Jupyter as a job, opened in a browser of this machine",
          "Runs JupyterLab, or Jupyter Notebook where that is missing, as a job of one task, and "
          "prints an\naddress of this machine with its token. Only your own connections get "
          "through. FOLDER is what it\nshows, this folder unless given; on a cluster it is a "
          "copy. Ctrl-C ends the job.\n",
          {{"gpus", "N", false, "GPUs of the notebook"},
           {"memory", "SIZE", false, "memory of the notebook, e.g. 8g"},
           {"python", "FILE", false, "the Python that has Jupyter; python3 unless given"},
           {"port", "NUMBER", false, "to listen on; any free one unless given"}},
          1,
          &RunNotebook,
          &JobVerbExits};
}

}  // namespace tony::client
