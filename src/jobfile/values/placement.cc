// Recursive descent over and(…) and or(…). Their leaves are comma lists, whose first word decides
// between tags and attributes.
#include "jobfile/values/placement.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "jobfile/values/values.h"

namespace tony::jobfile {
namespace {

using Words = std::vector<std::string>;

// Limits the recursion of Parse(). Hadoop's parser and protobuf have limits of their own.
constexpr int kMostNested = 20;

absl::Status Bad(const std::string& part, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("'", part, "' ", why));
}

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

// Splits `text` at each `divider` outside brackets. InvalidArgument – a bracket has no partner.
absl::StatusOr<Words> Split(const std::string& text, char divider) {
  Words parts(1);
  int open = 0;
  for (const char c : text) {
    if (c == '(') ++open;
    if (c == ')' && --open < 0) break;
    if (c == divider && open == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (open != 0) return Bad(text, "has a bracket without a partner");
  for (std::string& part : parts) part = Trimmed(part);
  return parts;
}

bool IsOperator(const std::string& word) {
  const auto same = [&word](const char* name) { return absl::EqualsIgnoreCase(word, name); };
  return same("in") || same("notin") || same("cardinality") || same("and") || same("or");
}

// The last slash divides owner and name, since the owner "app-id/ID" has a slash itself.
absl::StatusOr<PlacementConstraint::Tag> ParseTag(const std::string& text) {
  const size_t slash = text.rfind('/');
  PlacementConstraint::Tag tag{"self", text};
  if (slash != std::string::npos) tag = {text.substr(0, slash), text.substr(slash + 1)};
  if (tag.name.empty()) return Bad(text, "names no tag");
  const std::string& owner = tag.owner;
  if (owner == "self" || owner == "not-self" || owner == "all") return tag;
  for (const std::string prefix : {"app-id/", "app-tag/"}) {
    if (absl::StartsWith(owner, prefix) && owner != prefix) return tag;
  }
  return Bad(text,
             "is a tag of nobody: before the slash stands self, not-self, all, app-id/ID or "
             "app-tag/TAG");
}

absl::StatusOr<int> ParseNumber(const std::string& text) {
  const auto number = ParseWholeNumber(text);
  if (number && *number >= 0 && *number <= PlacementConstraint::kAnyNumber) {
    return static_cast<int>(*number);
  }
  return Bad(text, "is no number of containers");
}

// Moves the two numbers at the end of `words`, the words after "cardinality", into `constraint`.
absl::Status TakeNumbers(const std::string& text, Words& words, PlacementConstraint& constraint) {
  if (words.size() < 4) return Bad(text, "needs a scope, a tag, a smallest and a largest number");
  TONY_ASSIGN_OR_RETURN(constraint.maximum, ParseNumber(words.back()));
  words.pop_back();
  TONY_ASSIGN_OR_RETURN(constraint.minimum, ParseNumber(words.back()));
  words.pop_back();
  if (constraint.minimum <= constraint.maximum) return absl::OkStatus();
  return Bad(text, "asks for more than the largest number");
}

absl::StatusOr<PlacementConstraint> ParseTags(const std::string& text, Words words) {
  PlacementConstraint constraint;
  const std::string verb = absl::AsciiStrToLower(words.front());
  words.erase(words.begin());
  if (verb == "in") {
    constraint.minimum = 1;
    constraint.maximum = PlacementConstraint::kAnyNumber;
  } else if (verb == "cardinality") {
    TONY_RETURN_IF_ERROR(TakeNumbers(text, words, constraint));
  }
  if (words.size() < 2) return Bad(text, "needs a scope and a tag");
  constraint.scope = absl::AsciiStrToLower(words.front());
  if (constraint.scope != "node" && constraint.scope != "rack") {
    return Bad(words.front(), "is neither node nor rack");
  }
  for (size_t i = 1; i < words.size(); ++i) {
    TONY_ASSIGN_OR_RETURN(constraint.tags.emplace_back(), ParseTag(words[i]));
  }
  return constraint;
}

absl::StatusOr<PlacementConstraint> ParseAttribute(const std::string& text, Words words) {
  // Hadoop's distributed shell takes "zk=3,notin,node,zk" and "zk(3),notin,node,zk", where the tag
  // and the number of containers come first. The message tells its users the keys for both.
  if (words.size() > 1 && IsOperator(words[1])) {
    return Bad(text,
               "begins with a tag and a number, which belong to allocation-tags and instances");
  }
  PlacementConstraint constraint;
  constraint.kind = PlacementConstraint::Kind::kAttribute;
  const size_t equals = words.front().find('=');
  if (equals == std::string::npos) {
    return Bad(text, "begins with none of in, notin, cardinality, and(, or(, and has no =");
  }
  constraint.attribute = Trimmed(words.front().substr(0, equals));
  constraint.equal = !absl::EndsWith(constraint.attribute, "!");
  if (!constraint.equal) constraint.attribute.pop_back();
  constraint.attribute = Trimmed(constraint.attribute);
  words.front() = Trimmed(words.front().substr(equals + 1));
  if (constraint.attribute.empty()) return Bad(text, "names no attribute");
  for (const std::string& value : words) {
    if (value.empty()) return Bad(text, "has an empty value");
    if (absl::StrContains(value, "="))
      return Bad(text, "has two attributes; join them by and(A:B)");
  }
  constraint.values = std::move(words);
  return constraint;
}

absl::StatusOr<PlacementConstraint> Parse(const std::string& whole, int depth);

// Parses "and(A:B)" or "or(A:B)"; nothing for other texts.
absl::StatusOr<std::optional<PlacementConstraint>> ParseJunction(const std::string& text,
                                                                 int depth) {
  const size_t bracket = text.find('(');
  const std::string verb = absl::AsciiStrToLower(Trimmed(text.substr(0, bracket)));
  const std::string word = verb.substr(0, verb.find(','));
  if (word != "and" && word != "or") return std::nullopt;
  if (word != verb || bracket == std::string::npos || text.back() != ')') {
    return Bad(text, absl::StrCat("is not of the form ", word, "(A:B)"));
  }
  if (depth == kMostNested) return Bad(text, "is nested too deeply");
  PlacementConstraint junction;
  junction.kind = verb == "and" ? PlacementConstraint::Kind::kAnd : PlacementConstraint::Kind::kOr;
  TONY_ASSIGN_OR_RETURN(const Words parts,
                        Split(text.substr(bracket + 1, text.size() - bracket - 2), ':'));
  for (const std::string& part : parts) {
    TONY_ASSIGN_OR_RETURN(junction.parts.emplace_back(), Parse(part, depth + 1));
  }
  return junction;
}

absl::StatusOr<PlacementConstraint> Parse(const std::string& whole, int depth) {
  const std::string text = Trimmed(whole);
  if (text.empty()) return Bad(text, "is no constraint");
  TONY_ASSIGN_OR_RETURN(std::optional<PlacementConstraint> junction, ParseJunction(text, depth));
  if (junction.has_value()) return *std::move(junction);
  TONY_ASSIGN_OR_RETURN(const Words divided, Split(text, ':'));
  if (divided.size() > 1) return Bad(text, "is several constraints; join them by and(A:B)");
  TONY_ASSIGN_OR_RETURN(Words words, Split(text, ','));
  if (IsOperator(words.front())) return ParseTags(text, std::move(words));
  return ParseAttribute(text, std::move(words));
}

std::string FormatTag(const PlacementConstraint::Tag& tag) {
  return tag.owner == "self" ? tag.name : absl::StrCat(tag.owner, "/", tag.name);
}

// `notin` and `in` are short forms of `cardinality` with 0 to 0 and with 1 to any number.
std::string FormatTags(const PlacementConstraint& constraint) {
  Words words = {"cardinality", constraint.scope};
  for (const auto& tag : constraint.tags) words.push_back(FormatTag(tag));
  if (constraint.minimum == 0 && constraint.maximum == 0) {
    words.front() = "notin";
  } else if (constraint.minimum == 1 && constraint.maximum == PlacementConstraint::kAnyNumber) {
    words.front() = "in";
  } else {
    words.push_back(absl::StrCat(constraint.minimum));
    words.push_back(absl::StrCat(constraint.maximum));
  }
  return absl::StrJoin(words, ",");
}

}  // namespace

absl::StatusOr<PlacementConstraint> ParsePlacement(const std::string& text) {
  return Parse(text, 0);
}

std::string FormatPlacement(const PlacementConstraint& constraint) {
  if (constraint.kind == PlacementConstraint::Kind::kTags) return FormatTags(constraint);
  if (constraint.kind == PlacementConstraint::Kind::kAttribute) {
    return absl::StrCat(constraint.attribute,
                        constraint.equal ? "=" : "!=", absl::StrJoin(constraint.values, ","));
  }
  Words parts;
  for (const PlacementConstraint& part : constraint.parts) parts.push_back(FormatPlacement(part));
  return absl::StrCat(constraint.kind == PlacementConstraint::Kind::kAnd ? "and(" : "or(",
                      absl::StrJoin(parts, ":"), ")");
}

}  // namespace tony::jobfile
