// A verb's own table says how its arguments are completed; only which jobs make sense is said here.
#include "client/verbs/complete_tony.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/completion/command_slot.h"
#include "client/completion/complete_arguments.h"
#include "client/verbs/verb_table.h"

namespace tony::client {
namespace {

/// Verbs that make sense for some jobs only.
constexpr std::pair<const char*, JobChoice> kJobsOfVerbs[] = {
    {"kill", JobChoice::kRunning}, {"wait", JobChoice::kRunning}, {"attach", JobChoice::kRunning},
    {"open", JobChoice::kRunning}, {"exec", JobChoice::kRunning}, {"proxy", JobChoice::kRunning},
    {"rm", JobChoice::kOver},
};

JobChoice JobsOf(const Verb& verb) {
  const auto* const found =
      std::find_if(std::begin(kJobsOfVerbs), std::end(kJobsOfVerbs),
                   [&verb](const auto& row) { return verb.name == row.first; });
  return found == std::end(kJobsOfVerbs) ? JobChoice::kAll : found->second;
}

Candidates Verbs(const std::string& word) {
  Candidates candidates;
  for (const Verb& verb : AllVerbs()) {
    candidates.push_back({verb.name, verb.meaning});
    // Aliases are for those who type them; in the list of all verbs they would only confuse.
    if (word.empty()) continue;
    for (const std::string& alias : verb.aliases) candidates.push_back({alias, verb.meaning});
  }
  return WithPrefix(candidates, word);
}

Completion CompleteFirst(const std::string& word) {
  Candidates candidates = Verbs(word);
  const Candidates others = {{"help", "how a verb is used"},
                             {"--help", "print the list of verbs"},
                             {"--version", "print the version"}};
  for (const Candidate& other : WithPrefix(others, word)) {
    if (!word.empty() || other.word[0] != '-') candidates.push_back(other);
  }
  return {candidates};
}

/// The folder of the jobs by what the line says so far; empty: see LocalDirOf.
std::string LocalDir(const CommandLine& line, const VerbContext& context) {
  const absl::StatusOr<jobfile::Configuration> configuration = ConfigurationOf(line, context);
  if (!configuration.ok()) return "";
  const std::string backend = absl::AsciiStrToLower(configuration->GetText("tony.backend"));
  // To ask a cluster takes seconds.
  return backend == "local" ? configuration->GetText("tony.local.dir") : "";
}

}  // namespace

Completion CompleteTony(std::vector<std::string> words, const VerbContext& context) {
  if (words.empty()) words.emplace_back();
  if (words.size() == 1) return CompleteFirst(WithoutQuotes(words[0]));
  if (words[0] == "help") return words.size() == 2 ? Completion{Verbs(words[1])} : Completion{};
  const Verb* verb = VerbCalled(words[0]);
  if (verb == nullptr) return {};
  const CommandShape shape = {AllOptions(*verb), verb->arguments, verb->takes_command,
                              verb->words_before_command, JobsOf(*verb)};
  return CompleteArguments(shape, {words.begin() + 1, words.end()},
                           [&context](const CommandLine& line) { return LocalDir(line, context); });
}

}  // namespace tony::client
