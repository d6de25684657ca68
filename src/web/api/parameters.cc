// Each reader keeps exactly to the bounds that openapi.json states.
#include "web/api/parameters.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace tony::web {
namespace {

/// Characters of UTF-8 text.
size_t Characters(const std::string& text) {
  return static_cast<size_t>(
      absl::c_count_if(text, [](char byte) { return (byte & '\xc0') != '\x80'; }));
}

}  // namespace

bool IsWord(const std::string& text, size_t most, const std::string& others) {
  return !text.empty() && text.size() <= most && absl::c_all_of(text, [&](char character) {
    return absl::ascii_isalnum(static_cast<unsigned char>(character)) ||
           absl::StrContains(others, character);
  });
}

const std::string* Parameters::Find(const std::string& name) const {
  const auto found = query_.find(name);
  return found == query_.end() ? nullptr : &found->second;
}

void Parameters::Complain(const std::string& name, const std::string& what) {
  if (problem_) return;
  constexpr size_t kMostQuoted = 100;
  const std::string value = Find(name)->substr(0, kMostQuoted);
  problem_ = absl::StrCat("The parameter ", name, "='", value, "' is not ", what, ".");
}

// SimpleAtoi() takes white space, and a plus sign, which are no part of a number here.
int64_t Parameters::Number(const std::string& name, int64_t least, int64_t most,
                           int64_t otherwise) {
  const std::string* const text = Find(name);
  if (text == nullptr) return otherwise;
  int64_t number = 0;
  const bool plain = absl::c_all_of(*text, [](unsigned char character) {
    return absl::ascii_isdigit(character) || character == '-';
  });
  if (plain && absl::SimpleAtoi(*text, &number) && number >= least && number <= most) return number;
  Complain(name, absl::StrCat("a whole number from ", least, " to ", most));
  return otherwise;
}

std::string Parameters::Choice(const std::string& name, const std::vector<std::string>& choices,
                               const std::string& otherwise) {
  const std::string* const text = Find(name);
  if (text == nullptr) return otherwise;
  if (absl::c_linear_search(choices, *text)) return *text;
  Complain(name, absl::StrCat("one of ", absl::StrJoin(choices, ", ")));
  return otherwise;
}

std::vector<std::string> Parameters::Choices(const std::string& name,
                                             const std::vector<std::string>& choices,
                                             const std::vector<std::string>& otherwise) {
  const std::string* const text = Find(name);
  if (text == nullptr) return otherwise;
  const std::vector<std::string> chosen = absl::StrSplit(*text, ',');
  const bool known = absl::c_all_of(
      chosen, [&](const std::string& one) { return absl::c_linear_search(choices, one); });
  if (known && chosen.size() <= choices.size()) return chosen;
  Complain(name, absl::StrCat("some of ", absl::StrJoin(choices, ",")));
  return otherwise;
}

std::string Parameters::Word(const std::string& name, size_t most, const std::string& others) {
  const std::string* const text = Find(name);
  if (text == nullptr) return "";
  if (IsWord(*text, most, others)) return *text;
  Complain(name, absl::StrCat("1 to ", most, " letters, digits and any of ", others));
  return "";
}

std::vector<std::string> Parameters::Words(const std::string& name, size_t count, size_t most,
                                           const std::string& others) {
  const std::string* const text = Find(name);
  if (text == nullptr) return {};
  std::vector<std::string> words = absl::StrSplit(*text, ',');
  const bool right =
      absl::c_all_of(words, [&](const std::string& word) { return IsWord(word, most, others); });
  if (right && words.size() <= count) return words;
  Complain(name, absl::StrCat("1 to ", count, " words with commas between them, each of 1 to ",
                              most, " letters, digits and any of ", others));
  return {};
}

std::string Parameters::Text(const std::string& name, size_t most) {
  const std::string* const text = Find(name);
  if (text == nullptr) return "";
  if (!text->empty() && Characters(*text) <= most) return *text;
  Complain(name, absl::StrCat("a text of 1 to ", most, " characters"));
  return "";
}

}  // namespace tony::web
