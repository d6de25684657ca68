// The options that every verb takes are added to the verb's own table here, so a verb's file holds
// only what is special about it.
#include "client/verbs/tony_command.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/terminal.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

std::vector<Verb> AllVerbs() {
  return {RunVerb(),  ListVerb(),     StatusVerb(), LogsVerb(),  OpenVerb(),
          KillVerb(), WaitVerb(),     AttachVerb(), RmVerb(),    RerunVerb(),
          DiffVerb(), ValidateVerb(), TopVerb(),    DoctorVerb()};
}

OptionTable TableOf(const Verb& verb) {
  OptionTable table = verb.options;
  table.push_back({"backend", "NAME", false, "where the job is: local or yarn"});
  table.push_back({"json", "", false, "print JSON"});
  table.push_back({"conf", "KEY=VALUE", true, "a configuration key, e.g. tony.local.dir"});
  table.push_back({"help", "", false, "print this text", "h"});
  return table;
}

/// " (also: ls, ps)", or nothing.
std::string AlsoCalled(const Verb& verb) {
  if (verb.aliases.empty()) return "";
  return absl::StrCat(" (also: ", absl::StrJoin(verb.aliases, ", "), ")");
}

constexpr char kExitStatus[] =
    "\nExit status: 0 done, 1 no such job or task, 2 bad usage or a bad job file,\n"
    "3 the machine or the job's ApplicationMaster failed.\n";

/// Names that people type out of habit, and what they mean here.
constexpr std::pair<const char*, const char*> kHabits[] = {
    {"submit", "tony-submit"},     {"start", "tony-submit"},        {"delete", "tony rm"},
    {"remove", "tony rm"},         {"prune", "tony rm --older 7d"}, {"show", "tony status"},
    {"info", "tony status"},       {"describe", "tony status"},     {"log", "tony logs"},
    {"tail", "tony logs -f"},      {"follow", "tony attach"},       {"watch", "tony attach"},
    {"check", "tony validate"},    {"history", "tony list"},        {"jobs", "tony list"},
    {"version", "tony --version"},
};

std::string GeneralHelp() {
  std::string text =
      "Usage: tony VERB [ARGUMENTS]\n"
      "Runs programs as jobs, and looks after the jobs that it or tony-submit has started.\n\n"
      "Verbs:\n";
  for (const Verb& verb : AllVerbs()) {
    absl::StrAppend(&text, "  ", PadToWidth(absl::StrCat(verb.name, " ", verb.arguments), 22),
                    verb.meaning, AlsoCalled(verb), "\n");
  }
  absl::StrAppend(&text, "  help [VERB]           how a verb is used\n");
  return absl::StrCat(text, kExitStatus);
}

std::string HelpOf(const Verb& verb, int width) {
  return absl::StrCat("Usage: tony ", verb.name, " [OPTIONS] ", verb.arguments,
                      "\nMeaning: ", verb.meaning, AlsoCalled(verb), ".\n", verb.details,
                      "\nOptions:\n", RenderOptionTable(TableOf(verb), width),
                      verb.exit_status.empty() ? kExitStatus : verb.exit_status);
}

absl::StatusOr<Verb> FindVerb(const std::string& name) {
  std::vector<std::string> names;
  for (Verb& verb : AllVerbs()) {
    const auto& aliases = verb.aliases;
    const bool called = std::find(aliases.begin(), aliases.end(), name) != aliases.end();
    if (called || verb.name == name) return std::move(verb);
    names.push_back(verb.name);
  }
  for (const auto& [habit, meant] : kHabits) {
    if (name != habit) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("unknown verb '", name, "'; did you mean '", meant, "'?"));
  }
  const std::optional<std::string> nearest = NearestName(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown verb '", name, "'; ",
      nearest ? absl::StrCat("did you mean '", *nearest, "'?") : "tony --help lists all verbs"));
}

/// `arguments` with a "--" before the first one that is no option, so that the options behind it
/// stay the command's.
std::vector<std::string> MarkCommand(const OptionTable& table, std::vector<std::string> arguments) {
  const auto canonical = [](const std::string& name) {
    return absl::StrReplaceAll(name, {{"-", "_"}});
  };
  for (size_t position = 0; position < arguments.size(); ++position) {
    const std::string& token = arguments[position];
    if (token == "--") return arguments;
    if (token.size() < 2 || token[0] != '-') {
      arguments.insert(arguments.begin() + position, "--");
      return arguments;
    }
    const std::string name = token.substr(token[1] == '-' ? 2 : 1);
    const bool takes_next = std::any_of(table.begin(), table.end(), [&](const OptionRow& row) {
      return !row.value.empty() && (canonical(row.name) == canonical(name) || row.letter == name);
    });
    if (takes_next) ++position;
  }
  return arguments;
}

absl::StatusOr<int> UseVerb(const std::string& name, const std::vector<std::string>& arguments,
                            const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const Verb verb, FindVerb(name));
  TONY_ASSIGN_OR_RETURN(
      const CommandLine line,
      SplitCommandLine(TableOf(verb),
                       verb.takes_command ? MarkCommand(TableOf(verb), arguments) : arguments));
  // --help is answered before the other arguments are checked.
  if (line.Has("help")) {
    context.out(HelpOf(verb, std::min(context.screen.width, 100)));
    return kVerbDone;
  }
  if (line.positionals.size() > verb.max_positionals) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument '", line.positionals[verb.max_positionals],
                     "'; usage: tony ", verb.name, " ", verb.arguments));
  }
  return verb.run(line, context);
}

absl::StatusOr<int> Dispatch(const std::vector<std::string>& arguments,
                             const VerbContext& context) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("name a verb; tony --help lists them");
  }
  const std::string& first = arguments[0];
  const bool help = first == "help" || first == "--help" || first == "-help" || first == "-h";
  if (help && arguments.size() > 1) return UseVerb(arguments[1], {"--help"}, context);
  if (help) {
    context.out(GeneralHelp());
    return kVerbDone;
  }
  if (first == "--version" || first == "-version") {
    context.out(absl::StrCat(context.version, "\n"));
    return kVerbDone;
  }
  return UseVerb(first, {arguments.begin() + 1, arguments.end()}, context);
}

}  // namespace

int RunTony(const std::vector<std::string>& arguments, const VerbContext& context) {
  const absl::StatusOr<int> exit = Dispatch(arguments, context);
  if (exit.ok()) return *exit;
  context.err(absl::StrCat("tony: ", SafeText(std::string(exit.status().message())), "\n"));
  if (absl::IsNotFound(exit.status())) return kVerbNotPossible;
  return absl::IsInvalidArgument(exit.status()) ? kVerbBadUsage : kVerbFailed;
}

}  // namespace tony::client
