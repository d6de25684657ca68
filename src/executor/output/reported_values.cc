#include "executor/output/reported_values.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "common/safe_text.h"

namespace tony::executor {
namespace {

bool IsNameByte(char byte) {
  return absl::ascii_isalnum(static_cast<unsigned char>(byte)) || byte == '_' || byte == '.' ||
         byte == '-' || byte == '/';
}

}  // namespace

void ReportedValues::Add(const char* data, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      EndLine();
    } else if (line_.size() < kMostLineBytes) {
      line_ += data[i];
    } else {
      too_long_ = true;
    }
  }
}

void ReportedValues::EndLine() {
  const std::string line = std::exchange(line_, "");
  if (std::exchange(too_long_, false)) return;
  size_t at = 0;
  while (at < line.size()) {
    if (line[at] == ' ' || line[at] == '\t') {
      ++at;
      continue;
    }
    const size_t end = std::min(line.find_first_of("= \t", at), line.size());
    const std::string name = line.substr(at, end - at);
    at = end;
    if (at == line.size() || line[at] != '=') continue;  // a word without a value
    ++at;
    const bool quoted = at < line.size() && line[at] == '"';
    if (quoted) ++at;
    const size_t stop = std::min(line.find_first_of(quoted ? "\"" : " \t", at), line.size());
    Keep(name, line.substr(at, stop - at));
    at = quoted ? stop + 1 : stop;
  }
}

void ReportedValues::Keep(const std::string& name, const std::string& value) {
  if (name.empty() || name.size() > kMostNameBytes || value.size() > kMostValueBytes) return;
  if (!std::all_of(name.begin(), name.end(), IsNameByte) || SafeText(value) != value) return;
  if (values_.size() >= kMostNames && values_.count(name) == 0) return;
  values_[name] = value;
}

}  // namespace tony::executor
