// Splits the arguments in one pass. Each error says what the user should write instead.
#include "common/command_line.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/nearest_name.h"
#include "common/status_macros.h"

namespace tony {
namespace {

constexpr int kMeaningColumn = 32;

// TonY's options are written with `_`, newer ones with `-`; both spellings of every name are
// accepted.
std::string Canonical(const std::string& name) { return absl::StrReplaceAll(name, {{"-", "_"}}); }

const OptionRow* FindRow(const OptionTable& table, const std::string& name) {
  const std::string wanted = Canonical(name);
  for (const OptionRow& row : table) {
    if (Canonical(row.name) == wanted || (!row.letter.empty() && row.letter == name)) return &row;
  }
  return nullptr;
}

/// The parts of `--name=value`; `value` is nothing when there is no `=`.
struct OptionToken {
  std::string name;
  std::optional<std::string> value;
};

std::optional<OptionToken> ReadOptionToken(const std::string& token) {
  if (token.size() < 2 || token[0] != '-') return std::nullopt;
  const std::string body = token.substr(token[1] == '-' ? 2 : 1);
  const size_t equals = body.find('=');
  if (equals == std::string::npos) return OptionToken{body, std::nullopt};
  return OptionToken{body.substr(0, equals), body.substr(equals + 1)};
}

absl::Status UnknownOption(const OptionTable& table, const std::string& name) {
  std::vector<std::string> names;
  for (const OptionRow& row : table) names.push_back(Canonical(row.name));
  const std::optional<std::string> nearest = NearestName(Canonical(name), names);
  std::string advice = "--help lists all options";
  if (nearest) {
    advice = absl::StrCat("did you mean '--", FindRow(table, *nearest)->name, "'?");
  } else if (FindRow(table, "help") == nullptr) {
    // A program that only tony starts has no help, and few options.
    advice = absl::StrCat("there are ", absl::StrJoin(table, ", ", [](auto* text, auto& row) {
                            absl::StrAppend(text, "--", row.name);
                          }));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown option '--", name, "'; ", advice));
}

absl::Status Add(const OptionRow& row, const std::string& value, CommandLine& line) {
  std::vector<std::string>& values = line.options[row.name];
  if (!row.value.empty() && !row.repeatable && !values.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--", row.name, " was given twice: '", values[0],
                                                   "' and '", value, "'; give it once"));
  }
  values.push_back(value);
  return absl::OkStatus();
}

/// The value of `row` from the token after the option; moves `position` to that token.
absl::StatusOr<std::string> NextValue(const OptionTable& table, const OptionRow& row,
                                      const std::vector<std::string>& arguments, size_t& position) {
  const std::string usage =
      absl::StrCat("--", row.name, " needs a value: --", row.name, "=", row.value);
  if (position + 1 == arguments.size()) return absl::InvalidArgumentError(usage);
  const std::string& next = arguments[position + 1];
  const std::optional<OptionToken> token = ReadOptionToken(next);
  // A value may begin with a dash (--task_params '--steps 5'). But if it is another option of the
  // table, the user has probably forgotten the value.
  if (token && FindRow(table, token->name) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(usage, " (it is followed by the option '", next,
                                                   "'; write --", row.name, "='", next,
                                                   "' if that is the value)"));
  }
  ++position;
  return next;
}

absl::Status CheckRequired(const OptionRow& row, const CommandLine& line,
                           const std::string& usage) {
  if (!row.required || !line.Value(row.name).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(usage, "; --", row.name, "=", row.value, " is missing, which is ", row.meaning));
}

absl::Status StoreValues(const OptionRow& row, const CommandLine& line) {
  if (!row.store) return absl::OkStatus();
  for (const std::string& value : line.Values(row.name)) {
    TONY_RETURN_IF_ERROR(Annotate(row.store(value), absl::StrCat("--", row.name, "=", value)));
  }
  return absl::OkStatus();
}

/// The value as the help shows it behind the name: " FILE", "[=TASK]", or nothing for a flag.
std::string ValueText(const OptionRow& row) {
  if (row.value.empty()) return "";
  return row.optional ? absl::StrCat("[=", row.value, "]") : absl::StrCat(" ", row.value);
}

/// Breaks `text` into lines of at most `width` bytes at spaces.
std::vector<std::string> Wrap(const std::string& text, int width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ' '))) {
    if (!lines.back().empty() && static_cast<int>(lines.back().size() + 1 + word.size()) > width) {
      lines.emplace_back();
    }
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

}  // namespace

std::string CommandLine::Value(const std::string& name) const {
  auto found = options.find(name);
  return found == options.end() ? "" : found->second.front();
}

std::vector<std::string> CommandLine::Values(const std::string& name) const {
  auto found = options.find(name);
  return found == options.end() ? std::vector<std::string>() : found->second;
}

const OptionRow* FindOption(const OptionTable& table, const std::string& token) {
  const std::optional<OptionToken> option = ReadOptionToken(token);
  return option ? FindRow(table, option->name) : nullptr;
}

absl::StatusOr<CommandLine> SplitCommandLine(const OptionTable& table,
                                             const std::vector<std::string>& arguments) {
  CommandLine line;
  for (size_t position = 0; position < arguments.size(); ++position) {
    const std::string& token = arguments[position];
    if (token == "--") {
      line.positionals.insert(line.positionals.end(), arguments.begin() + position + 1,
                              arguments.end());
      break;
    }
    const std::optional<OptionToken> option = ReadOptionToken(token);
    if (!option) {
      line.positionals.push_back(token);
      continue;
    }
    const OptionRow* row = FindRow(table, option->name);
    if (row == nullptr) return UnknownOption(table, option->name);
    if (row->value.empty()) {
      if (option->value) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", row->name, " takes no value; leave '=", *option->value, "' out"));
      }
      TONY_RETURN_IF_ERROR(Add(*row, "", line));
      continue;
    }
    if (option->value || row->optional) {
      TONY_RETURN_IF_ERROR(Add(*row, option->value.value_or(""), line));
      continue;
    }
    TONY_ASSIGN_OR_RETURN(const std::string value, NextValue(table, *row, arguments, position));
    TONY_RETURN_IF_ERROR(Add(*row, value, line));
  }
  return line;
}

absl::Status ParseOptions(const OptionTable& table, const std::vector<std::string>& arguments,
                          const std::string& usage) {
  TONY_ASSIGN_OR_RETURN(const CommandLine line, SplitCommandLine(table, arguments));
  if (!line.positionals.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument '", line.positionals.front(), "'; ", usage));
  }
  // What is missing comes before what is wrong, since `usage` tells a person who has started the
  // program by hand that it is not for people.
  for (const OptionRow& row : table) TONY_RETURN_IF_ERROR(CheckRequired(row, line, usage));
  for (const OptionRow& row : table) TONY_RETURN_IF_ERROR(StoreValues(row, line));
  return absl::OkStatus();
}

std::string RenderOptionTable(const OptionTable& table, int width) {
  std::string text;
  for (const OptionRow& row : table) {
    std::string head =
        absl::StrCat("  ", row.letter.empty() ? "" : absl::StrCat("-", row.letter, ", "), "--",
                     row.name, ValueText(row));
    const std::string meaning = absl::StrCat(row.meaning, row.repeatable ? " (repeatable)" : "");
    for (const std::string& part : Wrap(meaning, std::max(width - kMeaningColumn, 30))) {
      if (head.size() + 2 > kMeaningColumn) {
        absl::StrAppend(&text, head, "\n");
        head.clear();
      }
      head.resize(kMeaningColumn, ' ');
      absl::StrAppend(&text, head, part, "\n");
      head.clear();
    }
  }
  return text;
}

}  // namespace tony
