// Follows only the tags. Comments, CDATA, declarations and processing instructions are skipped,
// since anything may stand in them.
#include "jobfile/xml/tag_mismatch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace tony::jobfile {
namespace {

constexpr absl::string_view kSpaces = " \t\r\n";
/// Longer names are cut in messages.
constexpr size_t kMostName = 60;

/// What opens like a tag and is none, with its end.
constexpr std::pair<absl::string_view, absl::string_view> kSkipped[] = {
    {"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};

struct Tag {
  absl::string_view name;
  int line = 0;
};

std::string Shown(const Tag& tag) {
  return absl::StrCat("<", std::string(tag.name.substr(0, kMostName)), ">, opened in line ",
                      tag.line);
}

/// The position behind what opens at `start` and is no tag; `start` if it is one. npos: it has no
/// end.
size_t SkipOther(absl::string_view text, size_t start) {
  for (const auto& [begin, end] : kSkipped) {
    if (!absl::StartsWith(text.substr(start), begin)) continue;
    const size_t found = text.find(end, start + begin.size());
    return found == absl::string_view::npos ? found : found + end.size();
  }
  return start;
}

}  // namespace

std::optional<TagMismatch> FindTagMismatch(const std::string& text) {
  const absl::string_view all = text;
  std::vector<Tag> open;
  int line = 1;
  size_t counted = 0;
  size_t at = 0;
  while ((at = all.find('<', at)) != absl::string_view::npos) {
    line += static_cast<int>(std::count(all.begin() + counted, all.begin() + at, '\n'));
    counted = at;
    const size_t behind = SkipOther(all, at);
    if (behind == absl::string_view::npos) return std::nullopt;
    if (behind != at) {
      at = behind;
      continue;
    }
    const size_t end = all.find('>', at);
    if (end == absl::string_view::npos) return std::nullopt;
    const bool closes = all.substr(at + 1, 1) == "/";
    absl::string_view name = all.substr(at + (closes ? 2 : 1), end - at - (closes ? 2 : 1));
    const bool empty = !closes && absl::EndsWith(name, "/");
    name = name.substr(0, name.find_first_of(kSpaces));
    if (closes && (open.empty() || open.back().name != name)) {
      const std::string tag(name.substr(0, kMostName));
      return TagMismatch{
          line, open.empty() ? absl::StrCat("</", tag, "> closes nothing")
                             : absl::StrCat("</", tag, "> stands inside ", Shown(open.back()))};
    }
    if (closes) {
      open.pop_back();
    } else if (!empty) {
      open.push_back({name, line});
    }
    at = end + 1;
  }
  if (open.empty()) return std::nullopt;
  line += static_cast<int>(std::count(all.begin() + counted, all.end(), '\n'));
  return TagMismatch{line, absl::StrCat("the file ends inside ", Shown(open.back()))};
}

}  // namespace tony::jobfile
