// The table of the ApplicationMaster's options, and what its process's environment adds to them.
#include "appmaster/options.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/command_line.h"
#include "common/option_store.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "logs/container_logs.h"
#include "os/processes/installation.h"

extern char** environ;

namespace tony::appmaster {
namespace {

constexpr char kUsage[] =
    "tony-am is started by tony-submit, with --job-folder=/…, or by YARN, with --on-yarn";

// No row is required: the rule "a folder, unless on YARN" spans two.
OptionTable TableOf(Options& options, bool& on_yarn) {
  const auto descriptor = [](const std::string& text) {
    return ParseNumber<int>(text, "a descriptor");
  };
  return {
      {.name = "job-folder",
       .value = "FOLDER",
       .meaning = "the job's folder, absolute; its last part is the job's id",
       .store = StoreText(options.job_folder)},
      {.name = "client-fd",
       .value = "NUMBER",
       .meaning = "a socket whose end means that the client is gone; the address goes there",
       .store = StoreNumber(options.client_fd, "a descriptor")},
      {.name = "lock-fd",
       .value = "NUMBER",
       .repeatable = true,
       .meaning = "the lock of the job's checkpoint folder or step, which its executors inherit",
       .store = StoreItem(options.lock_fds, descriptor)},
      {.name = "page-fd",
       .value = "NUMBER",
       .repeatable = true,
       .meaning = "twice: the bound socket of the job's page, and that of its program's page",
       .store = StoreItem(options.page_fds, descriptor)},
      {.name = "launcher-fd",
       .value = "NUMBER",
       .meaning = "a socket whose other end an external launcher holds, which starts the executors",
       .store = StoreNumber(options.launcher_fd, "a descriptor")},
      {.name = "launcher-host",
       .value = "ADDRESS",
       .meaning = "with --launcher-fd: the address of this machine at which executors reach it",
       .store = StoreText(options.launcher_host)},
      {.name = "restarts",
       .value = "NUMBER",
       .meaning = "how often a detached job's ApplicationMaster may be started again",
       .store = StoreNumber(options.restarts, "a number of restarts")},
      {.name = "open-files",
       .value = "NUMBER",
       .meaning = "soft limit on open files for the users' programs; 0: this process's own",
       .store = StoreNumber(options.open_files, "a number of open files")},
      {.name = "predecessor",
       .value = "TEXT",
       .meaning = "how the last ApplicationMaster of the job ended, for the job's notes",
       .store = StoreText(options.predecessor)},
      {.name = "detached",
       .meaning = "the job outlives the client",
       .store = StoreFlag(options.detached)},
      {.name = "leased",
       .meaning = "a detached job that ends when no owner follows it for tony.client.lease",
       .store = StoreFlag(options.leased)},
      {.name = "on-yarn",
       .meaning = "this process runs in a container of YARN's, whose variables say the rest",
       .store = StoreFlag(on_yarn)},
      {.name = "look-up",
       .meaning = "only print the address of the job's ApplicationMaster; with --on-yarn",
       .store = StoreFlag(options.look_up)},
  };
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string UserName() {
  // $USER wins, because on a cluster's node the C library may not know the node's users.
  const std::string told = Variable("USER");
  if (!told.empty()) return told;
  const passwd* entry = getpwuid(getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(getuid());
}

absl::StatusOr<Options::Yarn> ReadContainer() {
  Options::Yarn yarn;
  yarn.token_file = Variable("HADOOP_TOKEN_FILE_LOCATION");
  yarn.node_host = Variable("NM_HOST");
  if (yarn.token_file.empty() || yarn.node_host.empty()) {
    return absl::InvalidArgumentError(
        "--on-yarn is for a container of YARN's, which has HADOOP_TOKEN_FILE_LOCATION and NM_HOST");
  }
  yarn.container_id = Variable("CONTAINER_ID");
  yarn.node_http_port = Variable("NM_HTTP_PORT");
  yarn.log_folder = Variable(logs::kLogFolderVariable);
  std::error_code error;
  yarn.working_folder = std::filesystem::current_path(error).string();
  if (error) return absl::InternalError(absl::StrCat("no working folder: ", error.message()));
  return yarn;
}

}  // namespace

absl::StatusOr<Options> ParseOptions(int argc, char** argv) {
  Options options;
  bool on_yarn = false;
  TONY_RETURN_IF_ERROR(
      tony::ParseOptions(TableOf(options, on_yarn), {argv + 1, argv + argc}, kUsage));
  if (on_yarn) {
    TONY_ASSIGN_OR_RETURN(options.yarn, ReadContainer());
  }
  if (options.open_files == 0) options.open_files = OpenFilesLimit();
  if (options.yarn) return options;
  if (options.look_up) return absl::InvalidArgumentError("--look-up needs --on-yarn");
  if (options.job_folder.empty() || options.job_folder.front() != '/' || options.job_id().empty()) {
    return absl::InvalidArgumentError(kUsage);
  }
  if (!options.page_fds.empty() && options.page_fds.size() != 2) {
    return absl::InvalidArgumentError("--page-fd comes twice");
  }
  if ((options.launcher_fd >= 0) != !options.launcher_host.empty()) {
    return absl::InvalidArgumentError("--launcher-fd and --launcher-host come together");
  }
  TONY_ASSIGN_OR_RETURN(const os::Installation own, os::OwnInstallation());
  options.executor_path = own.daemon("tony-executor");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.push_back(*variable);
  }
  options.user = UserName();
  return options;
}

}  // namespace tony::appmaster
