// The list is parsed as Hadoop parses it: the first space separates users from groups, and names
// are separated by commas.
#include "web/access/access_list.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace tony::web {
namespace {

std::vector<std::string> Names(const std::string& text) {
  std::vector<std::string> names;
  for (const auto& name : absl::StrSplit(text, ',')) {
    std::string stripped(absl::StripAsciiWhitespace(name));
    if (!stripped.empty()) names.push_back(std::move(stripped));
  }
  return names;
}

}  // namespace

AccessList AccessList::Parse(const std::string& text) {
  AccessList list;
  list.everybody = absl::StripAsciiWhitespace(text) == "*";
  if (list.everybody) return list;
  // A list that begins with a space has groups only.
  const size_t space = text.find(' ');
  list.users = Names(text.substr(0, space));
  if (space != std::string::npos) list.groups = Names(text.substr(space + 1));
  return list;
}

bool AccessList::Allows(const std::string& user) const {
  return everybody || std::find(users.begin(), users.end(), user) != users.end();
}

}  // namespace tony::web
