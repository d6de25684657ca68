// One function per kind of error. Each hint removes the error or shows where it comes from; an
// error without such a hint gets none, since the verdict has the last lines anyway.
#include "executor/task/exit_hints.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "executor/task/command_request.h"

namespace tony::executor {
namespace {

/// The variables of PyTorch's env:// rendezvous, which only PyTorch jobs have.
constexpr const char* kRendezvousVariables[] = {"RANK",        "WORLD_SIZE", "MASTER_ADDR",
                                                "MASTER_PORT", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};

/// The ports that a message is about: numbers from 1024 to 65535 behind ":", ", ", "port " or
/// "port=", so that no year or process id is taken for one.
std::vector<int> PortsIn(const std::string& line) {
  std::vector<int> ports;
  for (size_t i = 0; i < line.size();) {
    size_t end = i;
    while (end < line.size() && absl::ascii_isdigit(line[end])) ++end;
    int number = 0;
    const std::string before = line.substr(0, i);
    const bool is_port = end > i && absl::SimpleAtoi(line.substr(i, end - i), &number) &&
                         number >= 1024 && number <= 65535 &&
                         (before.ends_with(":") || before.ends_with(", ") ||
                          before.ends_with("port ") || before.ends_with("port="));
    if (is_port) ports.push_back(number);
    i = end + 1;
  }
  return ports;
}

/// Explains that an address was in use, by the port in the message if there is one.
std::string ExplainPort(const std::string& line, const std::vector<int>& reserved) {
  const std::vector<int> ports = PortsIn(line);
  const bool own = std::find_first_of(ports.begin(), ports.end(), reserved.begin(),
                                      reserved.end()) != ports.end();
  if (!ports.empty() && !own && !reserved.empty()) {
    return absl::StrCat("port ", ports.back(), " is not the one that tony reserved for the task (",
                        absl::StrJoin(reserved, ", "), "); another process has it");
  }
  return absl::StrCat(own ? "the task's reserved port was in use: its server sets neither "
                          : "an address was in use; if it is the task's own reserved port, the "
                            "server sets neither ",
                      "SO_REUSEADDR nor SO_REUSEPORT: set tony.<type>.port-release=true");
}

/// Whether the line says that a variable of the rendezvous is missing: in the words of
/// torch.distributed, or as a program's own look-up in os.environ.
bool LacksRendezvousVariable(const std::string& line) {
  return std::any_of(
      std::begin(kRendezvousVariables), std::end(kRendezvousVariables), [&](const char* name) {
        return absl::StrContains(
                   line, absl::StrCat("environment variable ", name, " expected, but not set")) ||
               line == absl::StrCat("KeyError: '", name, "'");
      });
}

/// What the author of a program has to do about an error of jax.distributed.initialize(), which
/// reads the coordinator's address from a variable, and the numbers from the launchers that it
/// knows. Empty: the line names no such error.
std::string ExplainJax(const std::string& line) {
  if (absl::StrContains(line, "coordinator_address should be defined")) {
    return "JAX looks for variables that only JAX jobs have: set tony.application.framework to jax";
  }
  if (absl::StrContains(line, "Number of processes must be defined")) {
    return "JAX does not know its launcher: write `import tony.jax` before "
           "jax.distributed.initialize()";
  }
  return "";
}

/// The package that Python's message says is missing; nullopt: it says nothing of the kind.
std::optional<std::string> MissingModule(const std::string& line) {
  constexpr char kMessage[] = "ModuleNotFoundError: No module named '";
  const size_t at = line.find(kMessage);
  if (at == std::string::npos) return std::nullopt;
  const std::string rest = line.substr(at + sizeof(kMessage) - 1);
  return rest.substr(0, rest.find_first_of(".'"));
}

/// Which Python runs the command, if the command leaves that to PATH; otherwise empty.
std::string ExplainPython(const std::string& module, const ProgramFacts& facts) {
  for (const std::string& word :
       std::vector<std::string>(absl::StrSplit(facts.shell_command, ' ', absl::SkipEmpty()))) {
    if (absl::StrContains(word, '=')) continue;  // NAME=VALUE in front of the program
    if (!absl::StartsWith(word, "python") || absl::StrContains(word, '/')) return "";
    const auto path = FindProgram(word, facts.environment, facts.working_folder);
    if (!path) return "";
    std::string shown = *path;
    const bool inside = absl::StartsWith(shown, facts.working_folder + "/");
    if (inside) shown = shown.substr(facts.working_folder.size() + 1);
    return absl::StrCat(word, " is ", shown, "; is ", module, " installed there? ",
                        inside ? "--python_venv names another environment"
                               : "--python_venv gives the tasks an environment");
  }
  return "";
}

}  // namespace

std::string ExplainExit(int code, const std::vector<std::string>& tail, const ProgramFacts& facts) {
  if (code == 127) return "the command was not found";
  if (code == 126) return "the command is not executable";
  // The last line first: above the message, a traceback may quote the program's own words.
  for (auto next = tail.rbegin(); next != tail.rend(); ++next) {
    const std::string& line = *next;
    if (absl::StrContains(line, "ddress already in use")) {
      return ExplainPort(line, facts.reserved_ports);
    }
    // In a PyTorch job tony sets the variables, so one that is missing there was removed.
    if (facts.framework != "pytorch" && LacksRendezvousVariable(line)) {
      return absl::StrCat("PyTorch looks for variables that only PyTorch jobs have, and this is a ",
                          facts.framework, " job: set tony.application.framework to pytorch");
    }
    if (std::string hint = ExplainJax(line); !hint.empty()) return hint;
    if (const auto module = MissingModule(line)) return ExplainPython(*module, facts);
  }
  return "";
}

}  // namespace tony::executor
