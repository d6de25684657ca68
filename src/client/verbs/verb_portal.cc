// `tony portal`: all jobs in one place, in a browser. The verb only finds out where they are;
// tony-portal takes this process's place.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/local_folder.h"
#include "client/verbs/running_task.h"
#include "client/verbs/verbs.h"
#include "client/yarn/yarn_access.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/processes/installation.h"
#include "os/processes/own_program.h"

namespace tony::client {
namespace {

constexpr int kExamplePort = 8080;

/// The folders whose jobs are wanted: absolute, each once.
absl::StatusOr<std::vector<std::string>> LocationsOf(const CommandLine& line,
                                                     const VerbContext& context,
                                                     const std::string& local_dir) {
  std::vector<std::string> locations;
  for (const std::string& wish : line.Values("location")) {
    if (absl::StrContains(wish, "://")) {
      return absl::InvalidArgumentError(
          absl::StrCat("--location ", wish, ": the portal reads folders of this machine only; the ",
                       "jobs of a cluster are in  tony portal --backend yarn"));
    }
    const std::string folder =
        (std::filesystem::path(context.working_folder) / wish).lexically_normal().string();
    if (std::find(locations.begin(), locations.end(), folder) == locations.end()) {
      locations.push_back(folder);
    }
  }
  if (locations.empty()) locations.push_back(local_dir);
  return locations;
}

absl::Status BecomeProgram(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  return os::ErrnoError(errno, arguments[0]);
}

/// Adds what tony-portal has to know of the cluster. The codes of OptionsOfCluster().
absl::Status AddCluster(const jobfile::Configuration& configuration, const VerbContext& context,
                        std::vector<std::string>& arguments) {
  TONY_ASSIGN_OR_RETURN(
      const backend::YarnClusterOptions options,
      OptionsOfCluster(context.environment, jobfile::BuildYarnSettings(configuration, {})));
  const std::filesystem::path folder =
      std::filesystem::path(context.working_folder) / options.conf_dir;
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"conf", folder.lexically_normal().string()},
           {"staging", options.staging_dir},
           {"user", options.user},
           {"home", options.home},
           {"tokens", options.token_file},
           {"timeout-ms", absl::StrCat(options.timeout / std::chrono::milliseconds(1))}}) {
    if (!value.empty()) arguments.push_back(absl::StrCat("--hadoop-", name, "=", value));
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunPortal(const CommandLine& line, const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string local_dir = configuration.GetText("tony.local.dir");
  // The index lies in tony's own folder, which a submission would not take for its own otherwise.
  TONY_RETURN_IF_ERROR(OpenLocalFolder(local_dir).status());
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> locations,
                        LocationsOf(line, context, local_dir));
  TONY_ASSIGN_OR_RETURN(const std::string program, os::FindDaemon("tony-portal"));
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> arguments, os::OwnProgramCommand(program));
  for (const std::string& location : locations) {
    arguments.push_back(absl::StrCat("--location=", location));
  }
  arguments.push_back(absl::StrCat("--index=", local_dir, "/portal"));
  if (line.Has("port")) {
    TONY_ASSIGN_OR_RETURN(const int port, ParsePort("--port", line.Value("port"), kExamplePort));
    arguments.push_back(absl::StrCat("--port=", port));
  }
  if (line.Has("json")) arguments.push_back("--json");
  if (absl::AsciiStrToLower(configuration.GetText("tony.backend")) == "yarn") {
    TONY_RETURN_IF_ERROR(AddCluster(configuration, context, arguments));
  }
  return BecomeProgram(std::move(arguments));
}

}  // namespace

Verb PortalVerb() {
  return {"portal",
          "",
          "all jobs in one place, in a browser",
          "Lists, searches and sorts your running and past jobs, and shows the page of each, until "
          "Ctrl-C.\nWith --backend yarn also those of the cluster, from copies that stay when it "
          "is gone.\nPrints an address of this machine, which is good for one visit within two "
          "minutes: the browser then\nhas a cookie. Enter prints another one. Nobody else on the "
          "machine can see it.\n",
          {{"location", "FOLDER", true,
            "a folder with jobs, in place of tony.local.dir, like it laid out and owned by you"},
           {"port", "NUMBER", false, "to listen on; any free one unless given"}},
          0,
          &RunPortal};
}

}  // namespace tony::client
