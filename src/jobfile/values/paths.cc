// Paths are resolved by their text only: a configuration may name files of other machines.
#include "jobfile/values/paths.h"

#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::jobfile {
namespace {

// RFC 3986, 3.1: a scheme is a letter, then letters, digits, '+', '-' and '.'. Other texts before
// "://" are part of a path.
std::string SchemeOf(const std::string& path) {
  const size_t end = path.find("://");
  if (end == std::string::npos || end == 0 || !absl::ascii_isalpha(path[0])) return "";
  for (const char character : path.substr(0, end)) {
    if (!absl::ascii_isalnum(character) && character != '+' && character != '-' &&
        character != '.') {
      return "";
    }
  }
  return absl::AsciiStrToLower(path.substr(0, end));
}

// Hadoop writes both `file:///a` and `file:/a`.
std::string WithoutFileScheme(const std::string& path) {
  if (absl::StartsWithIgnoreCase(path, "file:///")) return path.substr(7);
  if (absl::StartsWithIgnoreCase(path, "file:/") && !absl::StartsWithIgnoreCase(path, "file://")) {
    return path.substr(5);
  }
  return path;
}

}  // namespace

std::string UriScheme(const std::string& path) { return SchemeOf(WithoutFileScheme(path)); }

std::string ResolvePath(const std::string& path, const std::string& folder,
                        const std::string& home_folder) {
  if (path.empty() || !UriScheme(path).empty()) return path;
  std::string local = WithoutFileScheme(path);
  if (local == "~" || absl::StartsWith(local, "~/")) {
    if (home_folder.empty()) return local;
    local = absl::StrCat(home_folder, local.substr(1));
  }
  std::filesystem::path resolved = std::filesystem::path(folder) / local;
  // If a component is a symbolic link, `..` after it leads to the parent of the link's target,
  // which the text does not tell. A path with `..` therefore stays as it is written.
  if (local.find("..") == std::string::npos) resolved = resolved.lexically_normal();
  std::string text = resolved.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace tony::jobfile
