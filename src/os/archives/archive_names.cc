// Resolves entry names and link targets by computation only, following links as the kernel would.
#include "os/archives/archive_names.h"

#include <deque>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

constexpr size_t kMaxNameLength = 4095;  // the kernel's PATH_MAX without the final NUL
constexpr int kMaxLinksFollowed = 40;    // the kernel's limit

bool IsAbsolute(const std::string& path) { return !path.empty() && path[0] == '/'; }

std::deque<std::string> Split(const std::string& path) {
  std::deque<std::string> parts;
  for (const auto& part : absl::StrSplit(path, '/', absl::SkipEmpty())) {
    if (part != ".") parts.emplace_back(part);
  }
  return parts;
}

}  // namespace

std::string JoinParts(const PathParts& parts) { return absl::StrJoin(parts, "/"); }

absl::StatusOr<PathParts> SplitEntryName(const std::string& name) {
  if (name.size() > kMaxNameLength) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the name is ", name.size(), " bytes long; at most ", kMaxNameLength, " are possible"));
  }
  if (IsAbsolute(name)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "absolute path ", Quoted(name), "; names must be relative to the archive's top"));
  }
  const std::deque<std::string> parts = Split(name);
  for (const std::string& part : parts) {
    if (part == "..") {
      return absl::InvalidArgumentError(absl::StrCat("'..' in the path ", Quoted(name)));
    }
  }
  return PathParts(parts.begin(), parts.end());
}

// A link in the middle of the target is replaced by its own target, as the kernel does. A link as
// the last part is not followed: it is checked as an entry of its own.
bool TargetStaysInside(const PathParts& link, const std::string& target, const LinkLookup& lookup) {
  if (IsAbsolute(target)) return false;
  PathParts place(link.begin(), link.end() - 1);
  std::deque<std::string> rest = Split(target);
  int followed = 0;
  while (!rest.empty()) {
    const std::string part = rest.front();
    rest.pop_front();
    if (part == "..") {
      if (place.empty()) return false;
      place.pop_back();
      continue;
    }
    place.push_back(part);
    if (rest.empty()) break;
    const std::optional<std::string> next = lookup(JoinParts(place));
    if (!next.has_value()) continue;
    if (IsAbsolute(*next) || ++followed > kMaxLinksFollowed) return false;
    place.pop_back();
    const std::deque<std::string> inserted = Split(*next);
    rest.insert(rest.begin(), inserted.begin(), inserted.end());
  }
  return true;
}

}  // namespace tony::os
