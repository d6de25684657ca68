// podman and docker share a command line; the differences stand in the few places that ask for the
// kind. Each call is a process with a deadline, because a daemon that hangs answers nothing.
#include "backend/image/engine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/safe_text.h"
#include "common/status_macros.h"
#include "os/processes/run_program.h"

namespace tony::backend {
namespace {

using nlohmann::json;

/// A cause in an engine's words, and what removes it.
struct Remedy {
  const char* cause;
  const char* remedy;
};

constexpr Remedy kRemedies[] = {
    {"Cannot connect to the Docker daemon",
     "start docker (systemctl start docker), or set tony.docker.engine to podman"},
    {"permission denied while trying to connect to the Docker daemon",
     "ask for membership in the group docker, or set tony.docker.engine to podman"},
    {"unresolvable CDI devices",
     "describe the GPUs for podman: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"},
    {"stat nvidia.com/gpu",
     "describe the GPUs for podman: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"},
    {"could not select device driver",
     "install nvidia-container-toolkit and restart docker, which has no GPUs without it"},
    {"invalid file system type on '/sys/fs/cgroup'",
     "crun does not run on this machine's control groups: install runc, and write runtime = "
     "\"runc\" below [engine] in /etc/containers/containers.conf"},
    {"no space left on device", "free room: podman system prune, or docker system prune"},
    {"Exec format error", "the image is for another processor"},
    {"exec format error", "the image is for another processor"},
};

std::string LastLine(const std::string& text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : std::string(absl::StripAsciiWhitespace(lines.back()));
}

/// Runs `engine` with `arguments` and returns its standard output.
absl::StatusOr<os::FinishedProgram> Ask(const Engine& engine,
                                        const std::vector<std::string>& arguments, Duration limit) {
  std::vector<std::string> command = {engine.program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return os::RunWithDeadline(command, limit);
}

absl::Status Failed(const Engine& engine, const os::FinishedProgram& finished) {
  std::string why = EngineComplaint(finished.standard_error);
  if (why.empty()) why = absl::StrCat("it exited with code ", finished.status.code);
  return absl::FailedPreconditionError(absl::StrCat(engine.name(), ": ", why));
}

bool SaysThereIsNone(const std::string& text) {
  const std::string lower = absl::AsciiStrToLower(text);
  return absl::StrContains(lower, "no such") || absl::StrContains(lower, "image not known") ||
         absl::StrContains(lower, "no container with");
}

std::string TextAt(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

absl::StatusOr<Engine> FindEngine(const std::string& wish, const std::vector<std::string>& path) {
  for (const Engine::Kind kind : {Engine::Kind::kPodman, Engine::Kind::kDocker}) {
    const Engine engine{kind, ""};
    if (wish != "auto" && wish != engine.name()) continue;
    for (const std::string& folder : path) {
      const std::string file = absl::StrCat(folder, "/", engine.name());
      if (absl::StartsWith(file, "/") && ::access(file.c_str(), X_OK) == 0) {
        return Engine{kind, file};
      }
    }
  }
  return absl::NotFoundError(
      absl::StrCat(wish == "auto" ? "neither podman nor docker is" : absl::StrCat(wish, " is not"),
                   " in PATH; install ", wish == "auto" ? "one of them" : "it",
                   wish == "docker" ? "" : " (apt-get install podman)",
                   wish == "auto" ? "" : ", or set tony.docker.engine to auto"));
}

std::vector<std::string> EngineFolders(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (absl::StartsWith(variable, "PATH=")) {
      return absl::StrSplit(variable.substr(5), ':', absl::SkipEmpty());
    }
  }
  return {"/usr/local/bin", "/usr/bin", "/bin"};
}

absl::StatusOr<ImageFacts> ParseImageFacts(const std::string& text) {
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_array() || parsed.empty() || !parsed[0].is_object()) {
    return absl::InvalidArgumentError("its answer about the image is no JSON list of an object");
  }
  ImageFacts facts;
  facts.architecture = TextAt(parsed[0], "Architecture");
  facts.system = TextAt(parsed[0], "Os");
  const auto size = parsed[0].find("Size");
  if (size != parsed[0].end() && size->is_number_integer()) facts.bytes = size->get<int64_t>();
  return facts;
}

absl::StatusOr<std::optional<ImageFacts>> FindImage(const Engine& engine, const std::string& image,
                                                    Duration limit) {
  TONY_ASSIGN_OR_RETURN(const os::FinishedProgram finished,
                        Ask(engine, {"image", "inspect", image}, limit));
  if (!finished.status.ok()) {
    if (SaysThereIsNone(finished.standard_error)) return std::nullopt;
    return Failed(engine, finished);
  }
  const absl::StatusOr<ImageFacts> facts = ParseImageFacts(finished.standard_output);
  if (!facts.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(engine.name(), ": ", std::string(facts.status().message())));
  }
  return *facts;
}

std::string OwnArchitecture() {
  struct utsname machine;
  if (::uname(&machine) != 0) return "";
  const std::string name = machine.machine;
  if (name == "x86_64") return "amd64";
  if (name == "aarch64") return "arm64";
  return name;
}

absl::StatusOr<EngineStore> FindStore(const Engine& engine, Duration limit) {
  const bool podman = engine.kind == Engine::Kind::kPodman;
  TONY_ASSIGN_OR_RETURN(const os::FinishedProgram finished,
                        Ask(engine,
                            {"info", "--format",
                             podman ? "{{.Store.GraphDriverName}} {{.Store.GraphRoot}}"
                                    : "{{.Driver}} {{.DockerRootDir}}"},
                            limit));
  if (!finished.status.ok()) return Failed(engine, finished);
  const std::vector<std::string> words =
      absl::StrSplit(LastLine(finished.standard_output), absl::MaxSplits(' ', 1));
  return EngineStore{words[0] == "vfs", words.size() > 1 ? words[1] : ""};
}

absl::StatusOr<std::vector<EngineContainer>> FindContainers(const Engine& engine, Duration limit) {
  const std::string user = absl::StrCat("label=", kUserLabel, "=", ::getuid());
  const std::string form = engine.kind == Engine::Kind::kPodman
                               ? absl::StrCat("{{.Names}} {{index .Labels \"", kFolderLabel, "\"}}")
                               : absl::StrCat("{{.Names}} {{.Label \"", kFolderLabel, "\"}}");
  TONY_ASSIGN_OR_RETURN(
      const os::FinishedProgram finished,
      Ask(engine, {"ps", "--all", "--no-trunc", "--filter", user, "--format", form}, limit));
  if (!finished.status.ok()) return Failed(engine, finished);
  std::vector<EngineContainer> containers;
  for (const std::string& line : std::vector<std::string>(
           absl::StrSplit(finished.standard_output, '\n', absl::SkipWhitespace()))) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (words.size() == 2) containers.push_back({words[0], words[1]});
  }
  return containers;
}

std::string EngineName(const std::string& container_id) {
  return absl::StrCat("tony-", container_id);
}

std::vector<std::string> RemoveCommand(const Engine& engine, const std::string& engine_name) {
  std::vector<std::string> command = {engine.program, "rm", "--force"};
  if (engine.kind == Engine::Kind::kPodman) {
    command.push_back("--time=0");  // docker kills at once; podman would wait ten seconds
    command.push_back("--ignore");  // a container that is not there is no failure
  }
  command.push_back(engine_name);
  return command;
}

absl::Status RemoveContainer(const Engine& engine, const std::string& engine_name, Duration limit) {
  // Without its monitor podman fails to remove a container once, and leaves it "stopping".
  for (int retries = 2;; --retries) {
    TONY_ASSIGN_OR_RETURN(const os::FinishedProgram finished,
                          os::RunWithDeadline(RemoveCommand(engine, engine_name), limit));
    if (finished.status.ok() || SaysThereIsNone(finished.standard_error)) return absl::OkStatus();
    if (retries == 0) return Failed(engine, finished);
  }
}

std::string EngineComplaint(const std::string& output) {
  std::string line = SafeText(LastLine(output));
  // A line of podman's log: time="…" level=error msg="…"
  if (const size_t message = line.find(" msg=\""); message != std::string::npos) {
    line = std::string(absl::StripSuffix(line.substr(message + 6), "\""));
  }
  for (const char* const before : {"Error: ", "docker: ", "Error response from daemon: "}) {
    line = std::string(absl::StripPrefix(line, before));
  }
  for (const Remedy& known : kRemedies) {
    if (absl::StrContains(output, known.cause)) {
      return absl::StrCat(line, "; ", known.remedy);
    }
  }
  return line;
}

}  // namespace tony::backend
