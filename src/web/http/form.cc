// A plus sign is a space: browsers' forms and URLSearchParams, and most libraries, write it so.
#include "web/http/form.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace tony::web {
namespace {

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(digit));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::optional<std::string> DecodePart(const std::string& text) {
  return DecodePercents(absl::StrReplaceAll(text, {{"+", " "}}));
}

}  // namespace

std::optional<std::string> DecodePercents(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char character = text[i];
    if (character == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      character = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (absl::ascii_iscntrl(static_cast<unsigned char>(character))) return std::nullopt;
    decoded += character;
  }
  return decoded;
}

std::optional<std::map<std::string, std::string>> ReadForm(const std::string& text) {
  std::map<std::string, std::string> form;
  const std::vector<std::string> parts = absl::StrSplit(text, '&', absl::SkipEmpty());
  for (const std::string& part : parts) {
    const std::vector<std::string> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::optional<std::string> name = DecodePart(sides[0]);
    const std::optional<std::string> value = DecodePart(sides.size() > 1 ? sides[1] : "");
    if (!name || !value) return std::nullopt;
    form.emplace(*name, *value);
  }
  return form;
}

}  // namespace tony::web
