// Reads only the last 16 KiB, so that the cost does not depend on the file's length.
#include "logs/last_lines.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "os/files/files.h"

namespace tony::logs {
namespace {

constexpr std::streamoff kMostBytes = 16 * 1024;

}  // namespace

std::string LastLines(const std::string& path, size_t count) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::string(os::ErrnoError(errno, path).message());
  file.seekg(0, std::ios::end);
  const std::streamoff size = file.tellg();
  const std::streamoff begin = std::max<std::streamoff>(0, size - kMostBytes);
  file.seekg(begin);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  // The first line may have lost its beginning.
  if (begin > 0 && lines.size() > 1) lines.erase(lines.begin());
  if (lines.size() > count) lines.erase(lines.begin(), lines.end() - static_cast<long>(count));
  return absl::StrJoin(lines, "\n");
}

}  // namespace tony::logs
