// One line of a scenario file as commands: what each command takes, and the refusal of the rest.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::core {

/// A command that has exactly the words and options that its name allows. job_scenario.h describes
/// the commands.
struct ScenarioCommand {
  std::string name;
  std::vector<std::string> words;  ///< without options and flags; of `job` its types, "worker=2"
  std::map<std::string, std::string> options;  ///< a flag, e.g. `timed-out`, has the value ""

  bool Has(const std::string& option) const { return options.count(option) > 0; }
  std::string Option(const std::string& option, const std::string& fallback = "") const;
  int Number(const std::string& option, int fallback) const;
  /// The `index`th word, or `fallback`.
  std::string Word(size_t index, const std::string& fallback = "") const;
};

struct ScenarioLine {
  bool quiet = false;  ///< begins with `quietly`: the effects are not shown
  std::vector<ScenarioCommand> commands;
};

/// The commands of a line that is neither empty nor a comment.
///
/// InvalidArgument – a command, a word, an option or a value is unknown, surplus, missing,
/// malformed
///     or out of range; the message says what was expected.
absl::StatusOr<ScenarioLine> ParseScenarioLine(const std::string& line);

/// Whether the word is the name of a container, e.g. "c1".
bool IsScenarioContainer(const std::string& word);

/// A number of decimal digits, with `-` before it where `least` is negative.
///
/// InvalidArgument – it is no such number, or not within [least, most].
absl::StatusOr<int> ParseScenarioNumber(const std::string& text, int least, int most);

/// "5s" or "200ms".
///
/// InvalidArgument – it is no such duration, or longer than a million of its units.
absl::StatusOr<std::chrono::milliseconds> ParseScenarioDuration(const std::string& text);

}  // namespace tony::core
