// A step's properties, of whoever wrote the flow.
//
// Besides not crashing: what was read is read again from what Java would write of it.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/utf8.h"
#include "jobfile/properties/java_properties.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

/// The text with all of its characters as escapes.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = DecodeUtf8(text, at);
    Require(character.well_formed, "what was read is UTF-8");
    const uint32_t code = character.code_point;
    if (code < 0x10000) {
      absl::StrAppendFormat(&escaped, "\\u%04x", code);
    } else {
      absl::StrAppendFormat(&escaped, "\\u%04X\\u%04X", 0xD800 + ((code - 0x10000) >> 10),
                            0xDC00 + ((code - 0x10000) & 0x3FF));
    }
    at += character.bytes;
  }
  return escaped;
}

}  // namespace

void FuzzJavaProperties(std::string_view input) {
  const auto properties = jobfile::ParseJavaProperties(input, "file");
  if (!properties.ok()) {
    Require(absl::StartsWith(std::string(properties.status().message()), "file:"), "a refusal has a line");
    return;
  }
  std::string written;
  for (const jobfile::JavaProperty& property : *properties) {
    absl::StrAppend(&written, Escaped(property.name), "=", Escaped(property.value), "\n");
    const std::string repaired = jobfile::RepairMisreadUtf8(property.value);
    Require(FindMalformedUtf8(repaired) == std::string::npos, "what was put right is UTF-8");
  }
  const auto again = jobfile::ParseJavaProperties(written, "file");
  Require(again.ok() && again->size() == properties->size(), "all are read again");
  for (size_t i = 0; i < again->size(); ++i) {
    Require(
        (*again)[i].name == (*properties)[i].name && (*again)[i].value == (*properties)[i].value,
        "a property is read as it was written");
  }
}

}  // namespace tony::fuzz
