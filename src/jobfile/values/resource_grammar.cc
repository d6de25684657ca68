// The entry is parsed from the right: the archive mark, then the local name; the rest is the path,
// which may contain any character.
#include "jobfile/values/resource_grammar.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::jobfile {
namespace {

constexpr char kArchiveMark[] = "#archive";
constexpr char kNameMark[] = "::";

std::string LastPart(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

bool IsPlainFileName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos;
}

}  // namespace

absl::StatusOr<core::ResourceEntry> ParseResource(const std::string& text) {
  core::ResourceEntry entry;
  entry.source = text;
  if (absl::EndsWithIgnoreCase(text, kArchiveMark)) {
    entry.archive = true;
    entry.source.resize(text.size() - std::string(kArchiveMark).size());
  }
  const size_t mark = entry.source.find(kNameMark);
  if (mark != std::string::npos) {
    entry.local_name = entry.source.substr(mark + 2);
    entry.source.resize(mark);
    if (absl::StrContains(entry.local_name, kNameMark)) {
      return absl::InvalidArgumentError(absl::StrCat("'", text, "' has more than one '::'"));
    }
  } else {
    entry.local_name = LastPart(entry.source);
  }
  if (entry.source.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' names no path"));
  }
  if (!IsPlainFileName(entry.local_name)) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' gives the local name '",
                                                   entry.local_name, "', which is no file name"));
  }
  return entry;
}

std::string FormatResource(const core::ResourceEntry& entry) {
  // A colon next to the mark "::" would be read as part of it. In this case the mark is left out if
  // the path alone implies the same local name.
  const bool ambiguous =
      absl::EndsWith(entry.source, ":") || absl::StartsWith(entry.local_name, ":");
  const bool implied = ambiguous && entry.local_name == LastPart(entry.source);
  return absl::StrCat(entry.source, implied ? "" : absl::StrCat(kNameMark, entry.local_name),
                      entry.archive ? kArchiveMark : "");
}

}  // namespace tony::jobfile
