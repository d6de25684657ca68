// The rules are those of XML 1.0: section 4.1 for references, section 4.3.3 and appendix F for
// encodings.
#include "jobfile/xml/xml_text.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/utf8.h"

namespace tony::jobfile {
namespace {

constexpr char kUtf8Mark[] = "\xEF\xBB\xBF";
constexpr char kSaveAsUtf8[] = "save it as UTF-8";
constexpr size_t kLongestReference = 64;

bool Begins(std::string_view bytes, std::string_view with) {
  return bytes.substr(0, with.size()) == with;
}

/// "UTF-16" or "UTF-32" if `bytes` are in such an encoding, else empty. They are recognized by
/// their byte order mark, or by the zero bytes of the ASCII character "<" at the beginning.
std::string WideEncoding(std::string_view bytes) {
  const auto zeros = [&](size_t count) {
    const std::string_view first = bytes.substr(0, count);
    return std::count(first.begin(), first.end(), '\0');
  };
  const std::string_view marks[] = {{"\xFF\xFE\0\0", 4}, {"\0\0\xFE\xFF", 4}};
  if (Begins(bytes, marks[0]) || Begins(bytes, marks[1]) || zeros(4) == 3) return "UTF-32";
  const bool mark = Begins(bytes, "\xFF\xFE") || Begins(bytes, "\xFE\xFF");
  return mark || zeros(2) == 1 ? "UTF-16" : "";
}

/// The encoding that `<?xml … encoding="…"?>` declares; empty without a declaration.
std::string DeclaredEncoding(std::string_view text) {
  if (!Begins(text, "<?xml") || text.size() < 6 || !absl::ascii_isspace(text[5])) return "";
  const std::string_view declaration = text.substr(0, text.find("?>"));
  const size_t name = declaration.find("encoding");
  if (name == std::string_view::npos) return "";
  const size_t begin = declaration.find_first_of("\"'", name);
  if (begin == std::string_view::npos) return "";
  const size_t end = declaration.find(declaration[begin], begin + 1);
  if (end == std::string_view::npos) return "";
  return std::string(declaration.substr(begin + 1, end - begin - 1));
}

bool IsOneOf(const std::string& name, std::initializer_list<const char*> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](const char* one) { return absl::EqualsIgnoreCase(name, one); });
}

int LineOf(std::string_view text, size_t position) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + position, '\n'));
}

std::string FromLatin1(const std::string& bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char byte : bytes) text += EncodeUtf8(static_cast<uint8_t>(byte));
  return text;
}

/// Whether `code` is a character of XML (production Char).
bool IsXmlCharacter(uint32_t code) {
  return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0xD800) ||
         (code > 0xDFFF && code < 0xFFFE) || (code >= 0x10000 && code <= 0x10FFFF);
}

/// The character for the reference `name`, given without "&" and ";". Nothing if it is unknown.
std::optional<std::string> Referenced(const std::string& name) {
  constexpr std::pair<const char*, const char*> kPredefined[] = {
      {"amp", "&"}, {"lt", "<"}, {"gt", ">"}, {"quot", "\""}, {"apos", "'"}};
  for (const auto& [known, text] : kPredefined) {
    if (name == known) return text;
  }
  uint32_t code = 0;
  const bool hexadecimal = Begins(name, "#x");
  const bool number = hexadecimal ? absl::SimpleHexAtoi(name.substr(2), &code)
                                  : Begins(name, "#") && absl::SimpleAtoi(name.substr(1), &code);
  if (!number || !IsXmlCharacter(code)) return std::nullopt;
  return EncodeUtf8(code);
}

/// The length of the reference that begins with the "&" at `position`, its ";" included; 0 if the
/// "&" begins none.
size_t ReferenceLength(std::string_view text, size_t position) {
  const std::string_view rest = text.substr(position + 1, kLongestReference);
  const size_t end = rest.find(';');
  if (end == std::string_view::npos || end == 0) return 0;
  const std::string_view name = rest.substr(0, end);
  const bool starts = name[0] == '#' || name[0] == '_' || name[0] == ':' ||
                      absl::ascii_isalpha(name[0]) || !absl::ascii_isascii(name[0]);
  const bool whole = std::all_of(name.begin() + 1, name.end(), [](char c) {
    return absl::ascii_isalnum(c) || !absl::ascii_isascii(c) || absl::StrContains("._:-", c);
  });
  return starts && whole ? end + 2 : 0;
}

}  // namespace

// A byte order mark decides before the declaration, as in appendix F.
DecodedXml DecodeXml(const std::string& bytes) {
  if (const std::string wide = WideEncoding(bytes); !wide.empty()) {
    return {.problem = absl::StrCat("the file is ", wide, ", of which only UTF-8 is read"),
            .remedy = kSaveAsUtf8};
  }
  const bool marked = Begins(bytes, kUtf8Mark);
  const std::string encoding = marked ? "" : DeclaredEncoding(bytes);
  if (IsOneOf(encoding, {"ISO-8859-1", "ISO8859-1", "ISO8859_1", "ISO_8859-1", "latin1", "l1"})) {
    return {.text = FromLatin1(bytes)};
  }
  const size_t odd = FindMalformedUtf8(bytes);
  const auto is_ascii = [](char byte) { return absl::ascii_isascii(byte); };
  if (encoding.empty() || IsOneOf(encoding, {"UTF-8", "UTF8"})) {
    if (odd == std::string::npos) return {.text = bytes};
    return {.problem = absl::StrCat("the file is not UTF-8: the byte 0x",
                                    absl::Hex(static_cast<uint8_t>(bytes[odd])), " in this line"),
            .remedy =
                "save it as UTF-8, or declare <?xml version=\"1.0\" "
                "encoding=\"ISO-8859-1\"?> if it is that",
            .line = LineOf(bytes, odd)};
  }
  // An unknown encoding does no harm to a file that is pure ASCII: the encodings that occur in job
  // files all contain ASCII.
  if (std::all_of(bytes.begin(), bytes.end(), is_ascii)) return {.text = bytes};
  return {.problem = absl::StrCat("the encoding '", encoding, "' is not known here"),
          .remedy = absl::StrCat(kSaveAsUtf8, ", and declare that"),
          .line = 1};
}

ExpandedText ExpandEntities(const std::string& raw) {
  ExpandedText expanded;
  for (size_t position = 0; position < raw.size();) {
    const size_t length = raw[position] == '&' ? ReferenceLength(raw, position) : 0;
    if (length == 0) {
      expanded.text.push_back(raw[position++]);
      continue;
    }
    const std::string reference = raw.substr(position, length);
    const auto text = Referenced(reference.substr(1, length - 2));
    if (!text && expanded.unknown.empty()) expanded.unknown = reference;
    expanded.text += text.value_or(reference);
    position += length;
  }
  return expanded;
}

}  // namespace tony::jobfile
