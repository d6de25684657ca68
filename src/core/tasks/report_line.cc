#include "core/tasks/report_line.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "common/utf8.h"

namespace tony::core {
namespace {

constexpr absl::string_view kBlank = " \t\r";

bool IsNameByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '.' ||
         byte == '-' || byte == '/';
}

/// Whether the text is well-formed UTF-8 without control characters (C0, DEL, C1).
bool IsPrintable(absl::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = DecodeUtf8({text.data(), text.size()}, at);
    const uint32_t point = character.code_point;
    if (!character.well_formed || point < 0x20 || (point >= 0x7f && point < 0xa0)) return false;
    at += character.bytes;
  }
  return true;
}

}  // namespace

bool IsReportPair(const ReportPair& pair) {
  return !pair.name.empty() && pair.name.size() <= kMostReportNameBytes &&
         pair.value.size() <= kMostReportValueBytes &&
         std::all_of(pair.name.begin(), pair.name.end(), IsNameByte) && IsPrintable(pair.value);
}

ReportLine ParseReportLine(absl::string_view line) {
  ReportLine parsed;
  size_t at = line.find_first_not_of(kBlank);
  while (at < line.size()) {
    const size_t begin = at;
    at = std::min(line.find_first_of("= \t\r", at), line.size());
    ReportPair pair{line.substr(begin, at - begin), {}};
    const bool has_value = at < line.size() && line[at] == '=';
    if (has_value) {
      ++at;
      const bool quoted = at < line.size() && line[at] == '"';
      if (quoted) ++at;
      const size_t end = std::min(line.find_first_of(quoted ? "\"" : kBlank, at), line.size());
      pair.value = line.substr(at, end - at);
      at = std::min(quoted ? end + 1 : end, line.size());
    }
    if (has_value && IsReportPair(pair)) {
      parsed.pairs.push_back(pair);
    } else if (parsed.defect.empty()) {
      parsed.defect = line.substr(begin, std::max<size_t>(at - begin, 1));
    }
    at = line.find_first_not_of(kBlank, at);
  }
  return parsed;
}

std::optional<double> ReportedNumber(absl::string_view value) {
  double number = 0;
  if (!absl::SimpleAtod(value, &number)) return std::nullopt;
  return number;
}

}  // namespace tony::core
