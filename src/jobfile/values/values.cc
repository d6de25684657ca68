// Each parser accepts exactly the documented form, since a value that is read more leniently than
// meant ("1 0" as 1, "2gb" as 2) would change a job silently.
#include "jobfile/values/values.h"

#include <charconv>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace tony::jobfile {
namespace {

std::string Trimmed(const std::string& text) {
  return std::string(absl::StripAsciiWhitespace(text));
}

// The product; nothing if `number` is missing or negative, or if the product exceeds 64 bits.
std::optional<int64_t> Multiply(std::optional<int64_t> number, int64_t factor) {
  if (!number || *number < 0 || *number > std::numeric_limits<int64_t>::max() / factor) {
    return std::nullopt;
  }
  return *number * factor;
}

}  // namespace

std::optional<bool> ParseBoolean(const std::string& text) {
  if (absl::EqualsIgnoreCase(text, "true")) return true;
  if (absl::EqualsIgnoreCase(text, "false")) return false;
  return std::nullopt;
}

std::optional<int64_t> ParseWholeNumber(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::optional<double> ParseDecimal(const std::string& text) {
  // from_chars() also accepts "inf" and "nan", in any chars_format.
  if (text.find_first_not_of("-.0123456789") != std::string::npos) return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::optional<int64_t> ParseMemoryMb(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const char unit = absl::ascii_tolower(text.back());
  if (unit == 'g') return Multiply(ParseWholeNumber(text.substr(0, text.size() - 1)), 1024);
  if (unit == 'm') return Multiply(ParseWholeNumber(text.substr(0, text.size() - 1)), 1);
  return Multiply(ParseWholeNumber(text), 1);
}

std::optional<int64_t> ParseMillisecondsWithUnit(const std::string& text) {
  // A suffix that ends with another one comes before it: "ms" and "sec" before "s", "min" before
  // "m".
  static constexpr struct {
    const char* suffix;
    int64_t milliseconds;
  } kUnits[] = {{"ms", 1},     {"sec", 1000},    {"s", 1000},      {"min", 60'000},
                {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  for (const auto& unit : kUnits) {
    if (!absl::EndsWithIgnoreCase(text, unit.suffix)) continue;
    const std::string number = text.substr(0, text.size() - std::string(unit.suffix).size());
    return Multiply(ParseWholeNumber(Trimmed(number)), unit.milliseconds);
  }
  return std::nullopt;
}

// A backslash is special only before a comma or a backslash, so that regular expressions such as
// `\d` need no escaping.
std::vector<std::string> SplitList(const std::string& text) {
  std::vector<std::string> items;
  std::string item;
  const auto finish = [&] {
    item = Trimmed(item);
    if (!item.empty()) items.push_back(item);
    item.clear();
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ',' || text[i + 1] == '\\');
    if (escaped) {
      item += text[++i];
    } else if (text[i] == ',') {
      finish();
    } else {
      item += text[i];
    }
  }
  finish();
  return items;
}

std::string EscapeListItem(const std::string& item) {
  std::string escaped;
  for (const char character : item) {
    if (character == ',' || character == '\\') escaped += '\\';
    escaped += character;
  }
  return escaped;
}

std::string JoinList(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    if (!text.empty()) text += ',';
    text += EscapeListItem(item);
  }
  return text;
}

std::optional<std::pair<std::string, std::string>> ParseKeyValue(const std::string& item) {
  const size_t divider = item.find('=');
  if (divider == std::string::npos) return std::nullopt;
  const std::string name = Trimmed(item.substr(0, divider));
  if (name.empty()) return std::nullopt;
  // White space behind the "=" belongs to the value: the variables of an environment may need it.
  return std::pair(name, item.substr(divider + 1));
}

std::map<std::string, std::string> ParseKeyValues(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const std::string& item : SplitList(text)) {
    if (const auto pair = ParseKeyValue(item)) values[pair->first] = pair->second;
  }
  return values;
}

}  // namespace tony::jobfile
