// Works on bytes: all characters with a meaning are ASCII, so UTF-8 passes through unchanged.
#include "web/http/html.h"

#include "absl/strings/ascii.h"

namespace tony::web {

std::string Escape(const std::string& text) {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 8);
  for (const char byte : text) {
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
        if (absl::ascii_iscntrl(static_cast<unsigned char>(byte))) {
          escaped += "\xEF\xBF\xBD";
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
