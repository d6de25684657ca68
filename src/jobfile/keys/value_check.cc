// One check per type of value. Each remedy shows the right form, and if possible the value that was
// probably meant.
#include "jobfile/keys/value_check.h"

#include <re2/re2.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "jobfile/values/paths.h"
#include "jobfile/values/placement.h"
#include "jobfile/values/resource_grammar.h"
#include "jobfile/values/secret_urls.h"
#include "jobfile/values/user_shares.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

/// The least number of letters of a choice that stand for the whole one.
constexpr size_t kLeastPart = 4;

std::string Quoted(const std::string& text) { return absl::StrCat("'", text, "'"); }

template <typename Number>
std::optional<Complaint> CheckRange(const Key& key, Number number) {
  if (number >= key.minimum && number <= key.maximum) return std::nullopt;
  return Complaint{absl::StrCat(number, " is out of range"),
                   absl::StrCat("write ", RangeText(key))};
}

std::optional<Complaint> CheckBoolean(const std::string& value) {
  if (ParseBoolean(value)) return std::nullopt;
  return Complaint{absl::StrCat(Quoted(value), " is neither true nor false"),
                   "write true or false"};
}

std::optional<Complaint> CheckCount(const Key& key, const std::string& value) {
  if (const auto number = ParseWholeNumber(value)) return CheckRange(key, *number);
  return Complaint{absl::StrCat(Quoted(value), " is not a whole number"),
                   absl::StrCat("write ", RangeText(key), ", without a unit")};
}

std::optional<Complaint> CheckDecimal(const Key& key, const std::string& value) {
  if (const auto number = ParseDecimal(value)) return CheckRange(key, *number);
  return Complaint{absl::StrCat(Quoted(value), " is not a number"),
                   absl::StrCat("write ", RangeText(key), ", as 2 or 0.5, without a unit")};
}

std::optional<Complaint> CheckDuration(const Key& key, const std::string& value, int64_t unit_ms,
                                       const std::string& unit) {
  if (const auto number = ParseWholeNumber(value)) return CheckRange(key, *number);
  // The remedy converts a value such as 5m, if the result is a whole number of the key's unit.
  const auto meant = ParseMillisecondsWithUnit(value);
  const std::string remedy = meant && *meant % unit_ms == 0
                                 ? absl::StrCat("write ", *meant / unit_ms)
                                 : absl::StrCat("write the number of ", unit, " without a unit");
  return Complaint{absl::StrCat(Quoted(value), " is not a whole number of ", unit), remedy};
}

std::optional<Complaint> CheckMemory(const Key& key, const std::string& value) {
  if (key.minimum == -1 && value == "-1") return std::nullopt;
  const auto megabytes = ParseMemoryMb(value);
  if (!megabytes) {
    return Complaint{absl::StrCat(Quoted(value), " is not an amount of memory"),
                     "write a whole number of megabytes (2048 or 2048m) or gigabytes (2g)"};
  }
  return CheckRange(key, *megabytes);
}

std::optional<Complaint> CheckChoice(const Key& key, const std::string& value) {
  for (const std::string& choice : key.choices) {
    if (absl::EqualsIgnoreCase(choice, value)) return std::nullopt;
  }
  auto nearest = NearestName(value, key.choices);
  // "torch" is too far from "pytorch" to be a slip of the finger, but it is what people say.
  for (const std::string& choice : key.choices) {
    if (!nearest && value.size() >= kLeastPart &&
        absl::StrContains(choice, absl::AsciiStrToLower(value))) {
      nearest = choice;
    }
  }
  return Complaint{absl::StrCat(Quoted(value), " is not one of ", absl::StrJoin(key.choices, ", ")),
                   nearest ? absl::StrCat("did you mean ", *nearest, "?") : "write one of these"};
}

std::optional<Complaint> CheckKeyValues(const std::string& value) {
  for (const std::string& item : SplitList(value)) {
    if (ParseKeyValue(item)) continue;
    return Complaint{absl::StrCat(Quoted(item), " is not of the form NAME=value"),
                     "write NAME=value, items divided by commas, a comma inside a value as \\,"};
  }
  return std::nullopt;
}

std::optional<Complaint> CheckAmounts(const std::string& value) {
  for (const std::string& item : SplitList(value)) {
    const auto pair = ParseKeyValue(item);
    const auto number = pair ? ParseWholeNumber(pair->second) : std::nullopt;
    if (number.value_or(0) > 0) continue;
    return Complaint{absl::StrCat(Quoted(item), " is not of the form NAME=number"),
                     "write NAME=number, the number 1 or more and without a unit, items divided by "
                     "commas"};
  }
  return std::nullopt;
}

std::optional<Complaint> CheckUserShares(const Key& key, const std::string& value) {
  const bool is_memory = key.type == ValueType::kUserMemory;
  const auto shares = ParseUserShares(value, is_memory ? ParseMemoryMb : ParseWholeNumber);
  if (shares.ok()) return std::nullopt;
  return Complaint{std::string(shares.status().message()),
                   is_memory ? "write, for example, 64g, alice=128g, @students=16g"
                             : "write, for example, 2, alice=4, @students=1"};
}

std::optional<Complaint> CheckPlacement(const std::string& value) {
  if (value.empty()) return std::nullopt;
  const auto constraint = ParsePlacement(value);
  if (constraint.ok()) return std::nullopt;
  return Complaint{std::string(constraint.status().message()),
                   "write in,SCOPE,TAG or notin,SCOPE,TAG or cardinality,SCOPE,TAG,MIN,MAX or "
                   "ATTRIBUTE=VALUE, several as and(A:B) or or(A:B); SCOPE is node or rack"};
}

std::optional<Complaint> CheckPatterns(const std::string& value) {
  for (const std::string& item : SplitList(value)) {
    const re2::RE2 pattern(item, re2::RE2::Quiet);
    // A comma that is not escaped divides a{1,2} into "a{1" and "2}". RE2 accepts "a{1" as literal
    // text, so without this check a secret would stay in the logs.
    const bool divided = re2::RE2::PartialMatch(item, R"([^\\]\{\d+$)");
    if (pattern.ok() && !divided) continue;
    const std::string why = divided ? "a comma divides it" : pattern.error();
    return Complaint{absl::StrCat(Quoted(item), " is no pattern: ", why),
                     "write a regular expression of RE2's, a comma inside of it as \\,"};
  }
  return std::nullopt;
}

/// Each named group becomes a value of the task, of which there are 16 at most.
constexpr size_t kMostGroups = 17;

// An unnamed group does no harm, but is no value either: RE2's own numbering is not shown anywhere.
std::optional<Complaint> CheckStepPattern(const std::string& value) {
  if (value.empty()) return std::nullopt;
  static constexpr char kRemedy[] =
      R"(write a regular expression of RE2's with a group called step, such as step (?P<step>\d+))";
  const re2::RE2 pattern(value, re2::RE2::Quiet);
  if (!pattern.ok()) {
    return Complaint{absl::StrCat(Quoted(value), " is no pattern: ", pattern.error()), kRemedy};
  }
  const auto& groups = pattern.NamedCapturingGroups();
  if (groups.count("step") == 0) {
    return Complaint{absl::StrCat(Quoted(value), " has no group called step"), kRemedy};
  }
  if (groups.size() > kMostGroups) {
    return Complaint{absl::StrCat(Quoted(value), " has ", groups.size(), " named groups"),
                     absl::StrCat("write at most ", kMostGroups)};
  }
  return std::nullopt;
}

// Relative paths were resolved when the file was read. A path that is still relative has "~" and no
// home folder, or comes from a configuration without a folder.
std::optional<Complaint> CheckAbsolute(const std::string& path) {
  const bool absolute = absl::StartsWith(path, "/") || !UriScheme(path).empty();
  if (path.empty() || absolute) return std::nullopt;
  return Complaint{absl::StrCat("cannot tell which folder ", Quoted(path), " belongs to"),
                   "write an absolute path, or set HOME where ~ is used"};
}

std::optional<Complaint> CheckFolder(const std::string& path) {
  if (UriScheme(path).empty()) return CheckAbsolute(path);
  return Complaint{absl::StrCat(Quoted(path), " is not on this machine"), "name a local folder"};
}

std::optional<Complaint> CheckResources(const std::string& value) {
  for (const std::string& item : SplitList(value)) {
    const auto entry = ParseResource(item);
    if (!entry.ok()) {
      return Complaint{std::string(entry.status().message()),
                       "write path, path::localName, or either followed by #archive"};
    }
    if (auto complaint = CheckAbsolute(entry->source)) return complaint;
  }
  return std::nullopt;
}

// The complaint never holds the address.
std::optional<Complaint> CheckSecretUrls(const std::string& value) {
  const std::vector<std::string> urls = SplitList(value);
  if (urls.size() > kMostSecretUrls) {
    return Complaint{absl::StrCat("has ", urls.size(), " addresses"),
                     absl::StrCat("write at most ", kMostSecretUrls)};
  }
  for (size_t index = 0; index < urls.size(); ++index) {
    const std::string trouble = SecretUrlTrouble(urls[index]);
    if (trouble.empty()) continue;
    return Complaint{absl::StrCat("address ", index + 1, " ", trouble),
                     "write http://HOST/PATH or https://HOST/PATH, addresses divided by commas"};
  }
  return std::nullopt;
}

}  // namespace

std::string RangeText(const Key& key) {
  if (key.maximum == Key().maximum) return absl::StrCat(key.minimum, " or more");
  return absl::StrCat(key.minimum, " to ", key.maximum);
}

// A switch over all types of values, with one check for each: the compiler reports a type that is
// left out.
std::optional<Complaint> CheckValue(const Key& key, const std::string& value) {
  switch (key.type) {
    case ValueType::kText:
    case ValueType::kCommand:
    case ValueType::kList:
      return std::nullopt;
    case ValueType::kBoolean:
      return CheckBoolean(value);
    case ValueType::kCount:
      return CheckCount(key, value);
    case ValueType::kDecimal:
      return CheckDecimal(key, value);
    case ValueType::kMilliseconds:
      return CheckDuration(key, value, 1, "milliseconds");
    case ValueType::kSeconds:
      return CheckDuration(key, value, 1000, "seconds");
    case ValueType::kMemory:
      return CheckMemory(key, value);
    case ValueType::kChoice:
      return CheckChoice(key, value);
    case ValueType::kPatterns:
      return CheckPatterns(value);
    case ValueType::kStepPattern:
      return CheckStepPattern(value);
    case ValueType::kUserCounts:
    case ValueType::kUserMemory:
      return CheckUserShares(key, value);
    case ValueType::kKeyValues:
      return CheckKeyValues(value);
    case ValueType::kPlacement:
      return CheckPlacement(value);
    case ValueType::kAmounts:
      return CheckAmounts(value);
    case ValueType::kResources:
      return CheckResources(value);
    case ValueType::kSecretUrls:
      return CheckSecretUrls(value);
    case ValueType::kExistingPath:
    case ValueType::kLocation:
      return CheckAbsolute(value);
    case ValueType::kFolder:
      return CheckFolder(value);
  }
  return std::nullopt;
}

}  // namespace tony::jobfile
