// The verbs come from the table in verb_table.h; this file knows none of them by name.
#include "client/verbs/tony_command.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/terminal.h"
#include "client/completion/shell_scripts.h"
#include "client/verbs/complete_tony.h"
#include "client/verbs/verb_table.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"

namespace tony::client {
namespace {

/// The columns of a help, which nobody reads in longer lines.
int HelpWidth(const VerbContext& context) { return std::min(context.screen.width, 100); }

/// " (also: ls, ps)", or nothing.
std::string AlsoCalled(const Verb& verb) {
  if (verb.aliases.empty()) return "";
  return absl::StrCat(" (also: ", absl::StrJoin(verb.aliases, ", "), ")");
}

/// Names that people type out of habit, and what they mean here.
constexpr std::pair<const char*, const char*> kHabits[] = {
    {"submit", "tony-submit"},     {"start", "tony-submit"},        {"delete", "tony rm"},
    {"remove", "tony rm"},         {"prune", "tony rm --older 7d"}, {"show", "tony status"},
    {"info", "tony status"},       {"describe", "tony status"},     {"log", "tony logs"},
    {"tail", "tony logs -f"},      {"follow", "tony attach"},       {"watch", "tony attach"},
    {"check", "tony validate"},    {"history", "tony list"},        {"jobs", "tony list"},
    {"version", "tony --version"},
};

std::string GeneralHelp(int width) {
  std::string text =
      "Usage: tony VERB [ARGUMENTS]\n"
      "Runs programs as jobs, and looks after the jobs that it or tony-submit has started.\n\n"
      "Verbs:\n";
  for (const Verb& verb : AllVerbs()) {
    absl::StrAppend(&text, "  ", PadToWidth(absl::StrCat(verb.name, " ", verb.arguments), 22),
                    verb.meaning, AlsoCalled(verb), "\n");
  }
  absl::StrAppend(&text, "  help [VERB]           how a verb is used\n");
  return absl::StrCat(text, "\n", RenderExitMeanings(UsualVerbExits(), width));
}

std::string HelpOf(const Verb& verb, int width) {
  return absl::StrCat("Usage: tony ", verb.name, " [OPTIONS] ", verb.arguments,
                      "\nMeaning: ", verb.meaning, AlsoCalled(verb), ".\n", verb.details,
                      "\nOptions:\n", RenderOptionTable(AllOptions(verb), width), "\n",
                      RenderExitMeanings(verb.exits(), width));
}

absl::StatusOr<const Verb*> FindVerb(const std::string& name) {
  if (const Verb* verb = VerbCalled(name)) return verb;
  std::vector<std::string> names;
  for (const Verb& verb : AllVerbs()) names.push_back(verb.name);
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

/// `arguments` with a "--" before the first one that is no option, after `before` such ones, so
/// that the options behind it stay the command's.
std::vector<std::string> MarkCommand(const OptionTable& table, size_t before,
                                     std::vector<std::string> arguments) {
  for (size_t position = 0; position < arguments.size(); ++position) {
    const std::string& token = arguments[position];
    if (token == "--") return arguments;
    if (token.size() < 2 || token[0] != '-') {
      if (before-- > 0) continue;
      arguments.insert(arguments.begin() + position, "--");
      return arguments;
    }
    const OptionRow* row = FindOption(table, token);
    const bool has_value = absl::StrContains(token, "=");
    if (row != nullptr && !row->value.empty() && !row->optional && !has_value) ++position;
  }
  return arguments;
}

absl::StatusOr<int> UseVerb(const std::string& name, const std::vector<std::string>& arguments,
                            const VerbContext& context) {
  TONY_ASSIGN_OR_RETURN(const Verb* found, FindVerb(name));
  const Verb& verb = *found;
  TONY_ASSIGN_OR_RETURN(
      const CommandLine line,
      SplitCommandLine(AllOptions(verb),
                       verb.takes_command
                           ? MarkCommand(AllOptions(verb), verb.words_before_command, arguments)
                           : arguments));
  // --help is answered before the other arguments are checked.
  if (line.Has("help")) {
    context.out(HelpOf(verb, HelpWidth(context)));
    return kVerbDone;
  }
  if (line.positionals.size() > verb.max_positionals) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument '", line.positionals[verb.max_positionals], "'; ",
                     verb.max_positionals == 0
                         ? absl::StrCat("tony ", verb.name, " takes none")
                         : absl::StrCat("usage: tony ", verb.name, " [OPTIONS] ", verb.arguments)));
  }
  return verb.run(line, context);
}

/// For a word with a dash where a verb is expected: InvalidArgument, with advice.
absl::Status OptionWithoutVerb(const std::string& option) {
  for (const Verb& verb : AllVerbs()) {
    if (FindOption(AllOptions(verb), option) == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat("'", option, "' comes behind a verb: tony VERB ",
                                                   option, "; tony --help lists the verbs"));
  }
  const OptionTable own_options = {{"version"}, {"help", "", false, "", "h"}};
  return SplitCommandLine(own_options, {option}).status();
}

absl::StatusOr<int> Dispatch(const std::vector<std::string>& arguments,
                             const VerbContext& context) {
  if (arguments.empty()) {
    return absl::InvalidArgumentError("name a verb; tony --help lists them");
  }
  const std::string& first = arguments[0];
  if (first == kCompleteWords) {
    const Completion answer = CompleteTony({arguments.begin() + 1, arguments.end()}, context);
    context.bytes(RenderCompletion(answer));
    return kVerbDone;
  }
  const bool help = first == "help" || first == "--help" || first == "-help" || first == "-h";
  if (help && arguments.size() > 1) return UseVerb(arguments[1], {"--help"}, context);
  if (help) {
    context.out(GeneralHelp(HelpWidth(context)));
    return kVerbDone;
  }
  if (first == "--version" || first == "-version") {
    context.out(absl::StrCat(context.version, "\n"));
    return kVerbDone;
  }
  if (absl::StartsWith(first, "-") && first != "--") TONY_RETURN_IF_ERROR(OptionWithoutVerb(first));
  return UseVerb(first, {arguments.begin() + 1, arguments.end()}, context);
}

}  // namespace

int RunTony(const std::vector<std::string>& arguments, const VerbContext& context) {
  const absl::StatusOr<int> exit = Dispatch(arguments, context);
  if (exit.ok()) return *exit;
  Say(context, std::string(exit.status().message()));
  if (absl::IsNotFound(exit.status())) return kVerbNotPossible;
  return absl::IsInvalidArgument(exit.status()) ? kVerbBadUsage : kVerbFailed;
}

}  // namespace tony::client
