// Keys and values come from heuristics, keys with the names of task types from the job file. They
// are escaped all the same: the text is meant to be pasted.
#include "core/advice/advice.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace tony::core {
namespace {

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

}  // namespace

std::string AdviceSeverityName(AdviceSeverity severity) {
  switch (severity) {
    case AdviceSeverity::kLow:
      return "low";
    case AdviceSeverity::kModerate:
      return "moderate";
    case AdviceSeverity::kSevere:
      return "severe";
    case AdviceSeverity::kCritical:
      return "critical";
  }
  return "low";
}

int Advice::score() const {
  const int weight = static_cast<int>(severity) + 1;
  return severity == AdviceSeverity::kLow ? 0 : weight * tasks;
}

std::string AdviceXml(const std::vector<Advice>& advice) {
  std::set<std::string> keys;
  std::string xml;
  for (const Advice& each : advice) {
    for (const AdviceLine& line : each.lines) {
      if (!keys.insert(line.key).second) continue;
      absl::StrAppend(&xml, "<property><name>", Escaped(line.key), "</name><value>",
                      Escaped(line.value), "</value></property>\n");
    }
  }
  return xml;
}

}  // namespace tony::core
