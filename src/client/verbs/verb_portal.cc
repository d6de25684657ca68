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

constexpr char kLocation[] = "location";

bool IsUrl(const std::string& place) { return absl::StrContains(place, "://"); }

/// The folders whose jobs are wanted: absolute paths and URLs, each once.
absl::StatusOr<std::vector<std::string>> FoldersOf(const std::string& option,
                                                   const CommandLine& line,
                                                   const VerbContext& context) {
  std::vector<std::string> locations;
  for (const std::string& wish : line.Values(option)) {
    const bool url = IsUrl(wish);
    if (url && option != kLocation) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", option, " ", wish,
                       ": the portal reads folders with TonY's histories on this machine only"));
    }
    const std::string folder =
        url ? wish
            : (std::filesystem::path(context.working_folder) / wish).lexically_normal().string();
    if (std::find(locations.begin(), locations.end(), folder) == locations.end()) {
      locations.push_back(folder);
    }
  }
  return locations;
}

absl::Status BecomeProgram(std::vector<std::string> arguments) {
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv(pointers[0], pointers.data());
  return os::ErrnoError(errno, arguments[0]);
}

/// Adds what tony-portal has to know of the cluster, or of an HDFS. FailedPrecondition – the
/// cluster's jobs are wanted, and nothing says where it is.
absl::Status AddHadoop(const jobfile::Configuration& configuration, const VerbContext& context,
                       bool with_cluster, std::vector<std::string>& arguments) {
  const jobfile::YarnSettings settings = jobfile::BuildYarnSettings(configuration, {});
  if (with_cluster) {
    TONY_RETURN_IF_ERROR(OptionsOfCluster(context.environment, settings).status());
    arguments.push_back("--cluster");
  }
  // An HDFS may be named by its address alone.
  const backend::YarnClusterOptions options = HadoopOptions(context.environment, settings);
  const std::filesystem::path folder =
      std::filesystem::path(context.working_folder) / options.conf_dir;
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"conf", options.conf_dir.empty() ? "" : folder.lexically_normal().string()},
           {"staging", options.staging_dir},
           {"user", options.user},
           {"home", options.home},
           {"tokens", options.token_file},
           {"timeout-ms", absl::StrCat(options.timeout / std::chrono::milliseconds(1))}}) {
    if (!value.empty()) arguments.push_back(absl::StrCat("--hadoop-", name, "=", value));
  }
  return absl::OkStatus();
}

/// The options that tony-portal gets as they are, and those whose value is a file.
constexpr const char* kPassedOn[] = {"listen",     "proxy-header",  "proxy-from",
                                     "proxy-user", "proxy-control", "name"};
constexpr const char* kFiles[] = {"certificate", "key", "users", "metrics-token-file"};

void PassOn(const CommandLine& line, const VerbContext& context,
            std::vector<std::string>& arguments) {
  for (const char* const name : kPassedOn) {
    for (const std::string& value : line.Values(name)) {
      arguments.push_back(absl::StrCat("--", name, "=", value));
    }
  }
  for (const char* const name : kFiles) {
    if (!line.Has(name)) continue;
    const std::filesystem::path file =
        std::filesystem::path(context.working_folder) / line.Value(name);
    arguments.push_back(absl::StrCat("--", name, "=", file.lexically_normal().string()));
  }
}

/// Replaces this process by one that asks for a password. Errno codes.
absl::Status AskForPassword(const CommandLine& line) {
  TONY_ASSIGN_OR_RETURN(const std::string program, os::FindDaemon("tony-portal"));
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> arguments, os::OwnProgramCommand(program));
  arguments.push_back(absl::StrCat("--add-user=", line.Value("add-user")));
  return BecomeProgram(std::move(arguments));
}

absl::StatusOr<int> RunPortal(const CommandLine& line, const VerbContext& context) {
  if (line.Has("add-user")) return AskForPassword(line);
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string local_dir = configuration.GetText("tony.local.dir");
  // The index lies in tony's own folder, which a submission would not take for its own otherwise.
  TONY_RETURN_IF_ERROR(OpenLocalFolder(local_dir).status());
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> locations, FoldersOf(kLocation, line, context));
  if (locations.empty()) locations.push_back(local_dir);
  TONY_ASSIGN_OR_RETURN(const std::vector<std::string> histories,
                        FoldersOf("tony-history", line, context));
  TONY_ASSIGN_OR_RETURN(const std::string program, os::FindDaemon("tony-portal"));
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> arguments, os::OwnProgramCommand(program));
  for (const std::string& location : locations) {
    arguments.push_back(absl::StrCat("--location=", location));
  }
  for (const std::string& history : histories) {
    arguments.push_back(absl::StrCat("--tony-history=", history));
  }
  arguments.push_back(absl::StrCat("--index=", local_dir, "/portal"));
  if (line.Has("port") && line.Has("listen")) {
    return absl::InvalidArgumentError("--port is for 127.0.0.1; --listen has its own port");
  }
  PassOn(line, context, arguments);
  if (line.Has("listen")) arguments.push_back("--log-level=info");  // who has logged in
  if (line.Has("port")) {
    TONY_ASSIGN_OR_RETURN(const int port, ParsePort("--port", line.Value("port"), kExamplePort));
    arguments.push_back(absl::StrCat("--port=", port));
  }
  if (line.Has("json")) arguments.push_back("--json");
  const bool cluster = absl::AsciiStrToLower(configuration.GetText("tony.backend")) == "yarn";
  if (cluster || std::any_of(locations.begin(), locations.end(), &IsUrl)) {
    TONY_RETURN_IF_ERROR(AddHadoop(configuration, context, cluster, arguments));
  }
  return BecomeProgram(std::move(arguments));
}

}  // namespace

Verb PortalVerb() {
  return {
      "portal",
      "",
      "all jobs in one place, in a browser",
      "Lists, searches and sorts your running and past jobs, and shows the page of each, until "
      "Ctrl-C.\nWith --backend yarn also those of the cluster, from copies that stay when it is "
      "gone.\nPrints an address of this machine, which is good for one visit within two "
      "minutes: the browser then\nhas a cookie. Enter prints another one. Nobody else on the "
      "machine can see it.\n\nWith --listen it serves several users, who log in: by a name and a "
      "password of --users, or through\na proxy that names them (docs/portal.md).\n",
      {{kLocation, "FOLDER", true,
        "a folder with jobs, in place of tony.local.dir: like it laid out and owned by you, or the "
        "URL of one in an HDFS"},
       {"tony-history", "FOLDER", true,
        "TonY's own histories, from a folder like its tony.history.location: what their names say"},
       {"port", "NUMBER", false, "to listen on; any free one unless given"},
       {"listen", "ADDRESS:PORT", false, "serve several users there, who log in"},
       {"certificate", "FILE", false, "the certificate for TLS, with those behind it, as PEM"},
       {"key", "FILE", false, "its private key; for nobody else to read"},
       {"users", "FILE", false, "the users, in lines of --add-user"},
       {"add-user", "NAME:ROLE", false,
        "ask for a password and print a line for --users; ROLE is view, or control, which may also "
        "end jobs that run on this machine"},
       {"proxy-header", "NAME", false, "the header in which a proxy names its user"},
       {"proxy-from", "ADDRESSES", false, "the proxy's addresses; nobody else is believed"},
       {"proxy-user", "USER", false, "who runs the proxy, if it is on this machine"},
       {"proxy-control", "USERS", false, "the proxy's users with the role control"},
       {"name", "NAME", true, "a host name by which browsers call the portal"},
       {"metrics-token-file", "FILE", false,
        "the token with which Prometheus reads the metrics of running jobs (docs/portal.md)"}},
      0,
      &RunPortal};
}

}  // namespace tony::client
