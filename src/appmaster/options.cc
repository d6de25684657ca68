// Parses the ApplicationMaster's flags, each "--name=value", and reads its process's environment.
#include "appmaster/options.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/process_setup.h"
#include "common/status_macros.h"
#include "logs/container_logs.h"
#include "os/processes/own_program.h"

extern char** environ;

namespace tony::appmaster {
namespace {

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
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (absl::StartsWith(argument, "--job-folder=")) {
      options.job_folder = argument.substr(argument.find('=') + 1);
    } else if (absl::StartsWith(argument, "--client-fd=")) {
      if (!absl::SimpleAtoi(argument.substr(argument.find('=') + 1), &options.client_fd)) {
        return absl::InvalidArgumentError(absl::StrCat(argument, ": not a number"));
      }
    } else if (absl::StartsWith(argument, "--restarts=")) {
      if (!absl::SimpleAtoi(argument.substr(argument.find('=') + 1), &options.restarts)) {
        return absl::InvalidArgumentError(absl::StrCat(argument, ": not a number"));
      }
    } else if (absl::StartsWith(argument, "--open-files=")) {
      if (!absl::SimpleAtoi(argument.substr(argument.find('=') + 1), &options.open_files)) {
        return absl::InvalidArgumentError(absl::StrCat(argument, ": not a number"));
      }
    } else if (argument == "--on-yarn") {
      TONY_ASSIGN_OR_RETURN(options.yarn, ReadContainer());
    } else if (argument == "--look-up") {
      options.look_up = true;
    } else if (argument == "--detached") {
      options.detached = true;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown argument ", argument));
    }
  }
  if (options.open_files == 0) options.open_files = OpenFilesLimit();
  if (options.yarn) return options;
  if (options.look_up) return absl::InvalidArgumentError("--look-up needs --on-yarn");
  if (options.job_folder.empty() || options.job_folder.front() != '/' || options.job_id().empty()) {
    return absl::InvalidArgumentError(
        "tony-am is started by tony-submit, with --job-folder=/…, or by YARN, with --on-yarn");
  }
  TONY_ASSIGN_OR_RETURN(options.executor_path, os::ProgramBeside("tony-executor"));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.push_back(*variable);
  }
  options.user = UserName();
  return options;
}

}  // namespace tony::appmaster
