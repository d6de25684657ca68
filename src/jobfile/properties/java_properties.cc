// The grammar is that of java.util.Properties.load(InputStream): logical lines, then a name up to
// the first separator without a backslash, then escapes.
#include "jobfile/properties/java_properties.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/utf8.h"
#include "jobfile/xml/files.h"

namespace tony::jobfile {
namespace {

constexpr int64_t kLargestFile = int64_t{16} << 20;
constexpr size_t kHexDigits = 4;
constexpr uint32_t kHighSurrogates = 0xD800;
constexpr uint32_t kLowSurrogates = 0xDC00;
constexpr uint32_t kBehindSurrogates = 0xE000;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\f'; }
bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }
bool IsSeparator(char c) { return c == '=' || c == ':'; }

/// A line with its continuations joined, without the white space in front.
struct LogicalLine {
  std::string text;
  int number = 0;
};

/// Cuts bytes into logical lines. Not thread safe.
class LineReader {
 public:
  explicit LineReader(std::string_view bytes) : bytes_(bytes) {}

  /// The next line that is neither empty nor a comment; nothing at the end.
  std::optional<LogicalLine> Next() {
    while (at_ < bytes_.size()) {
      LogicalLine line{.number = number_};
      std::string_view part = NaturalLine();
      if (part.empty() || part[0] == '#' || part[0] == '!') continue;
      // A continuation may begin with "#", and an empty one ends the logical line.
      while (Continues(part)) {
        line.text += part.substr(0, part.size() - 1);
        part = NaturalLine();
      }
      line.text += part;
      if (!line.text.empty()) return line;
    }
    return std::nullopt;
  }

 private:
  /// The rest of the current line, without white space in front and without its end.
  std::string_view NaturalLine() {
    while (at_ < bytes_.size() && IsBlank(bytes_[at_])) ++at_;
    const size_t begin = at_;
    while (at_ < bytes_.size() && !IsLineEnd(bytes_[at_])) ++at_;
    const std::string_view line = bytes_.substr(begin, at_ - begin);
    if (at_ < bytes_.size()) {
      at_ += bytes_.substr(at_, 2) == "\r\n" ? 2 : 1;
      ++number_;
    }
    return line;
  }

  /// Whether the line ends with an odd number of backslashes.
  static bool Continues(std::string_view line) {
    const size_t last = line.find_last_not_of('\\');
    return (line.size() - (last == std::string_view::npos ? 0 : last + 1)) % 2 == 1;
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  int number_ = 1;
};

/// The four digits at `at`; nothing if there are none.
std::optional<uint32_t> HexAt(std::string_view text, size_t at) {
  uint32_t unit = 0;
  const std::string digits(text.substr(std::min(at, text.size()), kHexDigits));
  // SimpleHexAtoi also takes white space, signs and "0x".
  const bool plain = digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  if (digits.size() != kHexDigits || !plain || !absl::SimpleHexAtoi(digits, &unit)) {
    return std::nullopt;
  }
  return unit;
}

/// The character of the escape `\uXXXX` at `at`, of which a pair of surrogates takes two, and moves
/// `at` behind it. InvalidArgument – as for ParseJavaProperties(), without the place.
absl::StatusOr<uint32_t> TakeUnicode(std::string_view text, size_t& at) {
  const auto quoted = [&text](size_t begin) {
    return std::string(text.substr(begin, 2 + kHexDigits));
  };
  const size_t begin = at;
  const std::optional<uint32_t> unit = HexAt(text, begin + 2);
  if (!unit) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", quoted(begin),
                     "': four hexadecimal digits must follow \\u; write \\\\u for the two "
                     "characters themselves"));
  }
  at += 2 + kHexDigits;
  if (*unit < kHighSurrogates || *unit >= kBehindSurrogates) return *unit;
  const bool pair = *unit < kLowSurrogates && text.substr(at, 2) == "\\u";
  const uint32_t low = pair ? HexAt(text, at + 2).value_or(0) : 0;
  if (low < kLowSurrogates || low >= kBehindSurrogates) {
    return absl::InvalidArgumentError(
        absl::StrCat(quoted(begin), " is half of a surrogate pair; write both halves"));
  }
  at += 2 + kHexDigits;
  return 0x10000 + ((*unit - kHighSurrogates) << 10) + (low - kLowSurrogates);
}

/// `text` with its escapes replaced, as UTF-8. InvalidArgument – as for ParseJavaProperties(),
/// without the place.
absl::StatusOr<std::string> Unescape(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    uint32_t character = static_cast<uint8_t>(text[at]);
    if (character != '\\' || at + 1 == text.size()) {
      // A backslash at the very end has nothing to escape, and Java drops it.
      ++at;
      if (character == '\\') continue;
    } else if (text[at + 1] == 'u') {
      TONY_ASSIGN_OR_RETURN(character, TakeUnicode(text, at));
    } else {
      const char escaped = text[at + 1];
      at += 2;
      character = escaped == 't'   ? '\t'
                  : escaped == 'n' ? '\n'
                  : escaped == 'r' ? '\r'
                  : escaped == 'f' ? '\f'
                                   : static_cast<uint8_t>(escaped);
    }
    if (character == 0) {
      return absl::InvalidArgumentError("there is a NUL character; remove it");
    }
    result += EncodeUtf8(character);
  }
  return result;
}

/// The length of the name at the beginning of a logical line.
size_t NameLength(std::string_view line) {
  size_t at = 0;
  while (at < line.size() && !IsBlank(line[at]) && !IsSeparator(line[at])) {
    at += line[at] == '\\' ? 2 : 1;
  }
  return std::min(at, line.size());
}

/// The position of the value in a logical line whose name has `name` bytes.
size_t ValueBegin(std::string_view line, size_t name) {
  size_t at = name;
  const auto skip_blanks = [&] {
    while (at < line.size() && IsBlank(line[at])) ++at;
  };
  skip_blanks();
  if (at < line.size() && IsSeparator(line[at])) ++at;
  skip_blanks();
  return at;
}

absl::StatusOr<JavaProperty> ParseLine(const LogicalLine& line) {
  const size_t name = NameLength(line.text);
  const std::string_view text = line.text;
  JavaProperty property{.line = line.number};
  TONY_ASSIGN_OR_RETURN(property.name, Unescape(text.substr(0, name)));
  TONY_ASSIGN_OR_RETURN(property.value, Unescape(text.substr(ValueBegin(text, name))));
  return property;
}

}  // namespace

absl::StatusOr<std::vector<JavaProperty>> ParseJavaProperties(std::string_view bytes,
                                                              const std::string& display_name) {
  std::vector<JavaProperty> properties;
  std::map<std::string, size_t> positions;
  LineReader lines(bytes);
  while (const std::optional<LogicalLine> line = lines.Next()) {
    absl::StatusOr<JavaProperty> property = ParseLine(*line);
    if (!property.ok()) {
      return Annotate(property.status(), absl::StrCat(display_name, ":", line->number));
    }
    const auto [known, added] = positions.emplace(property->name, properties.size());
    if (added) {
      properties.push_back(*std::move(property));
    } else {
      properties[known->second] = *std::move(property);
    }
  }
  return properties;
}

absl::StatusOr<std::vector<JavaProperty>> ReadJavaProperties(const std::string& path) {
  const absl::StatusOr<std::string> bytes = ReadFile(path, kLargestFile);
  if (!bytes.ok()) {
    return absl::Status(bytes.status().code(),
                        absl::StrCat(path, " ", std::string(bytes.status().message())));
  }
  return ParseJavaProperties(*bytes, path);
}

std::string RepairMisreadUtf8(const std::string& text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = DecodeUtf8(text, at);
    if (!character.well_formed || character.code_point > 0xFF) return text;
    bytes.push_back(static_cast<char>(character.code_point));
    at += character.bytes;
  }
  return FindMalformedUtf8(bytes) == std::string::npos ? bytes : text;
}

}  // namespace tony::jobfile
