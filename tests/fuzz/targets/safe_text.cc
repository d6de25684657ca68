// Text that is shown on a terminal: names of jobs, output of programs, answers of services,
// problems of job files. Of everybody whose words reach it.
//
// Besides not crashing: nothing that steers a terminal is left, which are control characters of one
// byte and of two (C2 80 to C2 9F), but tony's own colours; it is UTF-8; text that is safe stays as
// it is; a JSON value stays the same value; what is cut, wrapped and padded to a width has it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "client/cli/terminal.h"
#include "common/safe_text.h"
#include "common/utf8.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr int kWidth = 20;

void CheckSafe(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    Require(byte == '\n' || (byte >= 0x20 && byte != 0x7F), "no control character is left");
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    Require(byte != 0xC2 || next < 0x80 || next > 0x9F, "none of two bytes is left");
  }
  Require(FindMalformedUtf8(text) == std::string::npos, "safe text is UTF-8");
}

/// Without tony's own colours, from "ESC [ 30 m" to "ESC [ 37 m", and "ESC [ 0 m".
std::string WithoutColors(const std::string& text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 4, "\x1b[0m") == 0) {
      i += 3;
    } else if (text.compare(i, 3, "\x1b[3") == 0 && i + 4 < text.size() && text[i + 3] >= '0' &&
               text[i + 3] <= '7' && text[i + 4] == 'm') {
      i += 4;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

void CheckLines(const std::string& text) {
  const std::string lines = SafeLines(text, Paint::kNone);
  CheckSafe(lines);
  CheckSafe(WithoutColors(SafeLines(text, Paint::kColors)));
  Require(
      std::count(lines.begin(), lines.end(), '\n') == std::count(text.begin(), text.end(), '\n'),
      "ends of lines stay");
}

void CheckJson(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return;
  const std::string safe = SafeJson(value.dump());
  CheckSafe(safe);
  Require(nlohmann::json::parse(safe) == value, "safe JSON is the same value");
}

}  // namespace

void FuzzSafeText(std::string_view input) {
  const std::string text(input);
  const std::string safe = SafeText(text);
  CheckSafe(safe);
  Require(safe.find('\n') == std::string::npos, "safe text is one line");
  Require(SafeText(safe) == safe, "safe text stays as it is");
  CheckLines(text);
  CheckJson(text);
  const std::string cut = client::CutToWidth(safe, kWidth);
  Require(client::DisplayWidth(cut) <= kWidth, "what is cut fits");
  CheckSafe(cut);
  for (const std::string& line : client::WrapToWidth(safe, kWidth)) {
    Require(client::DisplayWidth(line) <= kWidth, "what is wrapped fits");
    CheckSafe(line);
  }
  Require(client::DisplayWidth(client::PadToWidth(cut, kWidth)) == kWidth, "what is padded fills");
}

}  // namespace tony::fuzz
