// The XML is written by hand, since tinyxml2's printer would lose carriage returns.
#include "jobfile/configuration/xml_writer.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "jobfile/keys/key_table.h"

namespace tony::jobfile {
namespace {

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '\r':
        escaped += "&#13;";
        break;
      default:
        escaped += character;
    }
  }
  return escaped;
}

bool IsFinal(const Entry& entry) {
  for (const Setting& setting : entry.settings) {
    if (setting.final) return true;
  }
  return false;
}

/// Whether the key stands in a site file for one of TonY's other programs. In a job's own file it
/// would be refused.
bool IsForOthers(const Entry& entry) {
  const std::optional<KeyMatch> match = FindKey(entry.key);
  return match && match->key->status == KeyStatus::kRefused &&
         entry.settings.back().origin.layer <= Layer::kSiteFile;
}

}  // namespace

std::string WriteXml(const Configuration& configuration) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<configuration>\n";
  for (const Entry& entry : configuration.entries()) {
    if (IsForOthers(entry)) continue;
    absl::StrAppend(&xml, "  <property>\n    <name>", Escaped(entry.key), "</name>\n");
    absl::StrAppend(&xml, "    <value>", Escaped(entry.Value()), "</value>\n");
    if (IsFinal(entry)) xml += "    <final>true</final>\n";
    absl::StrAppend(&xml, "    <source>", Escaped(entry.OriginText()), "</source>\n");
    xml += "  </property>\n";
  }
  return xml + "</configuration>\n";
}

}  // namespace tony::jobfile
