// The table of the commands, and the check of a line against it.
#include "tests/core/job/scenario_command.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace tony::core {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr int kAnyNumber = 1000;  ///< of words

bool IsDigits(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

bool IsName(const std::string& text) {
  const auto fits = [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

bool IsTask(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  return parts.size() == 2 && IsName(parts[0]) && IsDigits(parts[1]);
}

bool IsWho(const std::string& text) {
  return text == "all" || IsTask(text) || IsScenarioContainer(text);
}

/// "worker:0/1": a task and its attempt.
bool IsMember(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, '/');
  return parts.size() == 2 && IsTask(parts[0]) && IsDigits(parts[1]);
}

template <bool (*fits)(const std::string&)>
bool IsList(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ',');
  return std::all_of(parts.begin(), parts.end(), fits);
}

template <int least, int most>
bool IsNumber(const std::string& text) {
  return ParseScenarioNumber(text, least, most).ok();
}

/// The allowed values of a word or an option.
struct Value {
  bool (*fits)(const std::string&);
  const char* expected;
};

constexpr Value kText = {[](const std::string&) { return true; }, "text"};
constexpr Value kFlag = {[](const std::string& text) { return text.empty(); }, "no value"};
constexpr Value kDuration = {
    [](const std::string& text) { return ParseScenarioDuration(text).ok(); },
    "a duration like 5s or 200ms"};
constexpr Value kName = {IsName, "a task type"};
constexpr Value kNames = {IsList<IsName>, "task types, separated by commas"};
constexpr Value kWho = {IsWho, "all, a task like worker:0 or a container like c1"};
constexpr Value kContainer = {IsScenarioContainer, "a container like c1"};
constexpr Value kTasks = {IsList<IsTask>, "tasks like worker:0, separated by commas"};
constexpr Value kMembers = {IsList<IsMember>, "members like worker:0/1, separated by commas"};
constexpr Value kRefusal = {
    [](const std::string& text) { return text == "never-fits" || text == "failed"; },
    "never-fits or failed"};
constexpr Value kPhase = {[](const std::string& text) {
                            return text == "preparing" || text == "registered" ||
                                   text == "running" || text == "ended";
                          },
                          "preparing, registered, running or ended"};
constexpr Value kCount = {IsNumber<0, kMost>, "a number from 0"};
constexpr Value kPositive = {IsNumber<1, kMost>, "a number from 1"};
constexpr Value kEpoch = {IsNumber<-1, kMost>, "a number from -1"};
constexpr Value kCode = {IsNumber<0, 255>, "a number from 0 to 255"};
constexpr Value kSignal = {IsNumber<1, 64>, "a number from 1 to 64"};
constexpr Value kPort = {IsNumber<1, 65535>, "a number from 1 to 65535"};

struct OptionRule {
  const char* name;
  Value value;
  bool required = false;
};

/// The words and options of one command. Words beyond `words` follow the rule of the last one.
struct CommandRule {
  const char* name;
  std::vector<Value> words = {};
  int least_words = 0;
  int most_words = 0;
  std::vector<OptionRule> options = {};
  bool takes_types = false;  ///< an unknown option is a task type with its number of tasks
};

const OptionRule kOfEpoch = {"epoch", kEpoch};
const OptionRule kOfAttempt = {"attempt", kPositive};

/// scenario_job.h reads what is kText here.
const std::vector<OptionRule>& JobOptions() {
  static const std::vector<OptionRule> options = {
      {"untracked", kNames},
      {"sidecar", kNames},
      {"stop-on-failure", kNames},
      {"retries", kCount},
      {"infrastructure", kCount},
      {"backoff", kDuration},
      {"scope", kText},
      {"after", kText},
      {"limit", kText},
      {"application", kDuration},
      {"allocation", kDuration},
      {"hold", kDuration},
      {"registration", kDuration},
      {"heartbeat", kDuration},
      {"grace", kDuration},
      {"shutdown", kDuration},
      {"missed", kPositive},
      {"planning", kDuration},
      {"hosts", kCount},
      {"elastic", kText},
      {"tolerant", kFlag},
      {"horovod", kFlag},
      {"own-driver", kFlag},
      {"fcfs", kFlag},
  };
  return options;
}

const std::vector<CommandRule>& CommandRules() {
  static const std::vector<CommandRule> rules = {
      {.name = "job", .options = JobOptions(), .takes_types = true},
      {"start"},
      {"grant", {kName}, 1, kAnyNumber},
      {"grant-unasked", {kName}, 1, 1},
      {"grant-again", {kContainer}, 1, 1},
      {"wait", {kText}, 2, 2},
      {"refuse", {kRefusal, kText}, 2, 2},
      {"lose-master"},
      {"detach", {kWho}, 1, kAnyNumber},
      {"reattach",
       {kWho},
       1,
       kAnyNumber,
       {{"phase", kPhase, true}, kOfEpoch, kOfAttempt, {"code", kCode}, {"page", kPort}}},
      {"end-reclaimed"},
      {"process", {kContainer}, 1, 1, {{"pid", kPositive, true}, {"start", kPositive, true}}},
      {"attach", {kWho}, 1, kAnyNumber, {{"boot", kText}}},
      {"register", {kWho}, 1, kAnyNumber, {kOfEpoch, kOfAttempt, {"page", kPort}}},
      {"started", {kWho}, 1, kAnyNumber, {kOfEpoch, kOfAttempt}},
      {"end",
       {kWho},
       1,
       kAnyNumber,
       {kOfEpoch,
        kOfAttempt,
        {"code", kCode},
        {"signal", kSignal},
        {"timed-out", kFlag},
        {"not-started", kText},
        {"lost", kText},
        {"at", kCount},
        {"says", kText}}},
      {"lost", {kWho}, 1, kAnyNumber, {{"why", kText}}},
      {"gone", {kWho}, 1, kAnyNumber},
      {"heartbeat", {kWho}, 1, kAnyNumber, {{"processes", kCount}}},
      {"silence", {kWho}, 1, kAnyNumber},
      {"listens", {kWho}, 1, kAnyNumber, {kOfEpoch, kOfAttempt}},
      {"listens-not", {kWho}, 1, kAnyNumber, {kOfEpoch, kOfAttempt}},
      {"port-taken", {kWho}, 1, 1, {kOfEpoch, {"holder", kText, true}}},
      {"plan", {kWho}, 1, 1, {kOfEpoch, kOfAttempt, {"ranks", kPositive}, {"trouble", kText}}},
      {"round",
       {kWho},
       1,
       1,
       {kOfEpoch, kOfAttempt, {"number", kCount, true}, {"members", kMembers, true}}},
      {"rendezvous", {kWho, kText}, 2, 2, {kOfEpoch, kOfAttempt, {"missing", kTasks}}},
      {"silent",
       {kWho},
       1,
       kAnyNumber,
       {kOfEpoch, kOfAttempt, {"millis", kCount}, {"percent", kCount}}},
      {"advance", {kDuration}, 1, 1},
      {"stall", {kDuration}, 1, 1},
      {"stop", {kText}, 0, 1},
  };
  return rules;
}

struct Token {
  std::string text;
  bool begins_quoted = false;  ///< it is a text, and no option although it may have a `=`
};

/// The words of each command of a line. Within double quotes spaces and semicolons belong to the
/// word, and the quotes are left out.
absl::StatusOr<std::vector<std::vector<Token>>> Tokenize(const std::string& line) {
  std::vector<std::vector<Token>> commands(1);
  bool quoted = false;
  bool in_word = false;
  for (const char character : line) {
    if (!quoted && (character == ' ' || character == ';')) {
      in_word = false;
      if (character == ';') commands.emplace_back();
      continue;
    }
    if (!in_word) commands.back().push_back({.text = "", .begins_quoted = character == '"'});
    in_word = true;
    if (character == '"') {
      quoted = !quoted;
    } else {
      commands.back().back().text.push_back(character);
    }
  }
  if (quoted) return absl::InvalidArgumentError("expected a closing quote");
  return commands;
}

std::string Listed(const std::vector<OptionRule>& options) {
  if (options.empty()) return "no option";
  return absl::StrJoin(options, ", ", [](std::string* out, const OptionRule& option) {
    absl::StrAppend(out, option.name, option.value.fits == kFlag.fits ? "" : "=");
  });
}

absl::Status AddOption(const CommandRule& rule, const std::string& name, const std::string& value,
                       ScenarioCommand& command) {
  const auto option = std::find_if(rule.options.begin(), rule.options.end(),
                                   [&](const OptionRule& known) { return name == known.name; });
  const bool is_known = option != rule.options.end();
  if (!is_known && (!rule.takes_types || !IsName(name))) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown option \"", name, "=\"; expected ", Listed(rule.options)));
  }
  const Value& expected = is_known ? option->value : kCount;
  if (!expected.fits(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is \"", value, "\"; expected ", expected.expected));
  }
  if (!is_known) {
    command.words.push_back(absl::StrCat(name, "=", value));
  } else if (!command.options.emplace(name, value).second) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is given twice; expected it once"));
  }
  return absl::OkStatus();
}

bool IsFlag(const CommandRule& rule, const Token& token) {
  return !token.begins_quoted &&
         std::any_of(rule.options.begin(), rule.options.end(), [&](const OptionRule& option) {
           return token.text == option.name && option.value.fits == kFlag.fits;
         });
}

absl::Status AddWord(const CommandRule& rule, const std::string& word, ScenarioCommand& command) {
  const int index = static_cast<int>(command.words.size());
  if (index >= rule.most_words) {
    const std::string words = rule.most_words == 0 ? "no word" : absl::StrCat(rule.most_words);
    return absl::InvalidArgumentError(absl::StrCat("surplus word \"", word, "\"; expected ", words,
                                                   ", and ", Listed(rule.options)));
  }
  const Value& expected = rule.words[std::min<size_t>(index, rule.words.size() - 1)];
  if (!expected.fits(word)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown word \"", word, "\"; expected ", expected.expected));
  }
  command.words.push_back(word);
  return absl::OkStatus();
}

absl::Status CheckNothingIsMissing(const CommandRule& rule, const ScenarioCommand& command) {
  const int words = static_cast<int>(command.words.size());
  if (words < rule.least_words) {
    const Value& expected = rule.words[std::min<size_t>(words, rule.words.size() - 1)];
    return absl::InvalidArgumentError(
        absl::StrCat("a word is missing; expected ", expected.expected));
  }
  for (const OptionRule& option : rule.options) {
    if (option.required && !command.Has(option.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("expected ", option.name, "=, ", option.value.expected));
    }
  }
  if (command.name != "end") return absl::OkStatus();
  const std::vector<std::string> ways = {"code", "signal", "timed-out", "not-started", "lost"};
  const auto given = std::count_if(ways.begin(), ways.end(),
                                   [&](const std::string& way) { return command.Has(way); });
  if (given == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(given, " ways to end; expected one of ", absl::StrJoin(ways, ", ")));
}

absl::Status AddTokens(const CommandRule& rule, const std::vector<Token>& tokens,
                       ScenarioCommand& command) {
  for (size_t i = 1; i < tokens.size(); ++i) {
    const std::string& text = tokens[i].text;
    const size_t equals = tokens[i].begins_quoted ? std::string::npos : text.find('=');
    if (equals != std::string::npos) {
      TONY_RETURN_IF_ERROR(
          AddOption(rule, text.substr(0, equals), text.substr(equals + 1), command));
    } else if (IsFlag(rule, tokens[i])) {
      TONY_RETURN_IF_ERROR(AddOption(rule, text, "", command));
    } else {
      TONY_RETURN_IF_ERROR(AddWord(rule, text, command));
    }
  }
  return CheckNothingIsMissing(rule, command);
}

absl::StatusOr<ScenarioCommand> ParseCommand(const std::vector<Token>& tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("expected a command");
  ScenarioCommand command;
  command.name = tokens[0].text;
  const std::vector<CommandRule>& rules = CommandRules();
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const CommandRule& known) {
    return command.name == known.name;
  });
  if (rule == rules.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown command \"", command.name, "\"; expected quietly or one of ",
                     absl::StrJoin(rules, ", ", [](std::string* out, const CommandRule& known) {
                       absl::StrAppend(out, known.name);
                     })));
  }
  const absl::Status status = AddTokens(*rule, tokens, command);
  if (status.ok()) return command;
  return absl::InvalidArgumentError(absl::StrCat(command.name, ": ", status.message()));
}

}  // namespace

std::string ScenarioCommand::Option(const std::string& option, const std::string& fallback) const {
  const auto found = options.find(option);
  return found == options.end() ? fallback : found->second;
}

int ScenarioCommand::Number(const std::string& option, int fallback) const {
  if (!Has(option)) return fallback;
  return ParseScenarioNumber(options.at(option), std::numeric_limits<int>::min(), kMost).value();
}

std::string ScenarioCommand::Word(size_t index, const std::string& fallback) const {
  return index < words.size() ? words[index] : fallback;
}

absl::StatusOr<ScenarioLine> ParseScenarioLine(const std::string& line) {
  ScenarioLine result;
  const std::string quietly = "quietly ";
  result.quiet = line.starts_with(quietly);
  TONY_ASSIGN_OR_RETURN(const auto commands,
                        Tokenize(line.substr(result.quiet ? quietly.size() : 0)));
  if (!result.quiet && commands.size() > 1) {
    return absl::InvalidArgumentError("expected one command; several, with `;`, follow `quietly`");
  }
  for (const std::vector<Token>& tokens : commands) {
    TONY_ASSIGN_OR_RETURN(ScenarioCommand command, ParseCommand(tokens));
    result.commands.push_back(std::move(command));
  }
  return result;
}

bool IsScenarioContainer(const std::string& word) {
  return word.starts_with("c") && IsDigits(word.substr(1));
}

absl::StatusOr<int> ParseScenarioNumber(const std::string& text, int least, int most) {
  const std::string digits = least < 0 && text.starts_with("-") ? text.substr(1) : text;
  int number = 0;
  if (IsDigits(digits) && absl::SimpleAtoi(text, &number) && number >= least && number <= most) {
    return number;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no number from ", least, " to ", most));
}

absl::StatusOr<std::chrono::milliseconds> ParseScenarioDuration(const std::string& text) {
  constexpr int kMostUnits = 1'000'000;
  const bool is_millis = text.ends_with("ms");
  const size_t unit = text.size() - (is_millis ? 2 : 1);
  const absl::StatusOr<int> number = ParseScenarioNumber(text.substr(0, unit), 0, kMostUnits);
  if (!text.ends_with("s") || !number.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", text, "\" is no duration; expected one like 5s or 200ms"));
  }
  return std::chrono::milliseconds(is_millis ? *number : *number * 1000);
}

}  // namespace tony::core
