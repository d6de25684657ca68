// `tony portal`: all jobs in one place, in a browser. The verb only finds out where they are;
// tony-portal takes this process's place.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/jobs/local_folder.h"
#include "client/verbs/running_task.h"
#include "client/verbs/verbs.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/processes/installation.h"
#include "os/processes/own_program.h"

namespace tony::client {
namespace {

constexpr int kExamplePort = 8080;

/// The folders whose jobs are wanted: absolute, each once.
absl::StatusOr<std::vector<std::string>> FoldersOf(const std::string& option,
                                                   const CommandLine& line,
                                                   const VerbContext& context) {
  std::vector<std::string> locations;
  for (const std::string& wish : line.Values(option)) {
    if (absl::StrContains(wish, "://")) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", option, " ", wish, ": the portal reads folders of this machine only; the ",
          "jobs of a cluster are in  tony list --backend yarn"));
    }
    const std::string folder =
        (std::filesystem::path(context.working_folder) / wish).lexically_normal().string();
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

/// The options that tony-portal gets as they are, and those whose value is a file.
constexpr const char* kPassedOn[] = {"listen",     "proxy-header",  "proxy-from",
                                     "proxy-user", "proxy-control", "name"};
constexpr const char* kFiles[] = {"certificate", "key", "users"};

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

absl::StatusOr<int> RunPortal(const CommandLine& line, const VerbContext& context) {
  if (line.Has("add-user")) {
    TONY_ASSIGN_OR_RETURN(const std::string program, os::FindDaemon("tony-portal"));
    TONY_ASSIGN_OR_RETURN(std::vector<std::string> arguments, os::OwnProgramCommand(program));
    arguments.push_back(absl::StrCat("--add-user=", line.Value("add-user")));
    return BecomeProgram(std::move(arguments));
  }
  if (line.Value("backend") == "yarn") {
    return absl::InvalidArgumentError(
        "the portal shows the jobs of this machine; those of a cluster are in  "
        "tony list --backend yarn");
  }
  TONY_ASSIGN_OR_RETURN(const jobfile::Configuration configuration, ConfigurationOf(line, context));
  const std::string local_dir = configuration.GetText("tony.local.dir");
  // The index lies in tony's own folder, which a submission would not take for its own otherwise.
  TONY_RETURN_IF_ERROR(OpenLocalFolder(local_dir).status());
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> locations, FoldersOf("location", line, context));
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
  return BecomeProgram(std::move(arguments));
}

}  // namespace

Verb PortalVerb() {
  return {
      "portal",
      "",
      "all jobs of this machine in one place, in a browser",
      "Lists, searches and sorts your running and past jobs, and shows the page of each, until "
      "Ctrl-C.\nPrints an address of this machine, which is good for one visit within two "
      "minutes: the browser then\nhas a cookie. Enter prints another one. Nobody else on the "
      "machine can see it.\n\nWith --listen it serves several users, who log in: by a name and a "
      "password of --users, or through\na proxy that names them (docs/portal.md).\n",
      {{"location", "FOLDER", true,
        "a folder with jobs, in place of tony.local.dir, like it laid out and owned by you"},
       {"tony-history", "FOLDER", true,
        "TonY's own histories, from a folder like its tony.history.location: what their names say"},
       {"port", "NUMBER", false, "to listen on; any free one unless given"},
       {"listen", "ADDRESS:PORT", false, "serve several users there, who log in"},
       {"certificate", "FILE", false, "the certificate for TLS, with those behind it, as PEM"},
       {"key", "FILE", false, "its private key; for nobody else to read"},
       {"users", "FILE", false, "the users, in lines of --add-user"},
       {"add-user", "NAME:ROLE", false,
        "ask for a password and print a line for --users; ROLE is view or control"},
       {"proxy-header", "NAME", false, "the header in which a proxy names its user"},
       {"proxy-from", "ADDRESSES", false, "the proxy's addresses; nobody else is believed"},
       {"proxy-user", "USER", false, "who runs the proxy, if it is on this machine"},
       {"proxy-control", "USERS", false, "the proxy's users with the role control"},
       {"name", "NAME", true, "a host name by which browsers call the portal"}},
      0,
      &RunPortal};
}

}  // namespace tony::client
