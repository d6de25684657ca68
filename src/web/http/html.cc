// Works on bytes: all characters with a meaning are ASCII, so UTF-8 passes through unchanged.
#include "web/http/html.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace tony::web {
namespace {

/// U+FFFD.
constexpr char kReplacement[] = "\xEF\xBF\xBD";

/// The length in bytes of the character at the start of `text` if it turns the direction of the
/// text behind it, so that a name could show what it does not say (U+061C, U+200E, U+200F, U+202A
/// to U+202E, U+2066 to U+2069); 0: it does not.
size_t DirectionSize(absl::string_view text) {
  if (absl::StartsWith(text, "\xD8\x9C")) return 2;
  if (text.size() < 3 || text[0] != '\xE2') return 0;
  const auto last = static_cast<unsigned char>(text[2]);
  const bool marks = text[1] == '\x80' && (last == 0x8E || last == 0x8F);
  const bool embeddings = text[1] == '\x80' && last >= 0xAA && last <= 0xAE;
  const bool isolates = text[1] == '\x81' && last >= 0xA6 && last <= 0xA9;
  return marks || embeddings || isolates ? 3 : 0;
}

}  // namespace

std::string Escape(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 8);
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    switch (byte) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\t':
      case '\n':
        escaped += byte;
        break;
      default:
        if (const size_t size = DirectionSize(absl::string_view(text).substr(at)); size > 0) {
          escaped += kReplacement;
          at += size - 1;
        } else if (absl::ascii_iscntrl(static_cast<unsigned char>(byte))) {
          escaped += kReplacement;
        } else {
          escaped += byte;
        }
    }
  }
  return escaped;
}

std::string EncodePathPart(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (absl::ascii_isalnum(byte) || byte == '-' || byte == '.' || byte == '_' || byte == '~') {
      encoded += character;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

}  // namespace tony::web
