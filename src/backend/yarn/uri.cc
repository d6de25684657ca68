// Plain string cutting; nothing is unescaped, as in Hadoop's Path.
#include "backend/yarn/uri.h"

#include "absl/strings/match.h"

namespace tony::backend {

bool IsUri(const std::string& text) { return absl::StrContains(text, ":/"); }

std::string PathOfUri(const std::string& uri) {
  const size_t colons = uri.find("://");
  const size_t scheme = absl::StartsWith(uri, "file:") ? 5 : 0;
  const size_t begin = colons == std::string::npos ? scheme : uri.find('/', colons + 3);
  const size_t end = uri.find_last_not_of('/');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return uri.substr(begin, end + 1 - begin);
}

}  // namespace tony::backend
