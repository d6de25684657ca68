// A local job's tasks run in <job folder>/containers/ID; on YARN each has a folder container_… in
// one of the NodeManager's. The job's job.xml says from where the program was packed.
#include "client/show/source_paths.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "jobfile/configuration/configuration_loader.h"
#include "storage/job_folder.h"

namespace tony::client {
namespace {

namespace fs = std::filesystem;

constexpr char kYarnContainer[] = "/container_";
/// Characters that end a path, unless it stands in quotes.
constexpr char kEnds[] = " \t:,;()<>\"'";

/// A path in a line: [begin, end), and where the part below the task's folder begins.
struct FoundPath {
  size_t begin = 0;
  size_t inside = 0;
  size_t end = 0;
};

bool IsQuote(char c) { return c == '"' || c == '\''; }

/// The end of the path that begins at `begin`. A path in quotes may hold blanks.
size_t EndOf(const std::string& line, size_t begin) {
  if (begin > 0 && IsQuote(line[begin - 1])) {
    const size_t quote = line.find(line[begin - 1], begin);
    if (quote != std::string::npos) return quote;
  }
  return std::min(line.find_first_of(kEnds, begin), line.size());
}

/// A path with what comes after `folder`, which begins at `begin`; nothing if it does not lead
/// below a folder in there.
std::optional<FoundPath> PathFrom(const std::string& line, size_t begin, size_t after_folder) {
  const size_t end = EndOf(line, begin);
  const size_t slash = line.find('/', after_folder);
  if (slash == std::string::npos || slash + 1 >= end) return std::nullopt;
  return FoundPath{begin, slash + 1, end};
}

/// The next path into a task's folder in `folder`.
std::optional<FoundPath> FindBelow(const std::string& folder, const std::string& line,
                                   size_t from) {
  for (size_t begin = line.find(folder, from); begin != std::string::npos;
       begin = line.find(folder, begin + 1)) {
    if (auto found = PathFrom(line, begin, begin + folder.size())) return found;
  }
  return std::nullopt;
}

/// The next path into a container's folder on YARN. Its begin is not known, as each node has its
/// own folders.
std::optional<FoundPath> FindOnYarn(const std::string& line, size_t from) {
  for (size_t name = line.find(kYarnContainer, from); name != std::string::npos;
       name = line.find(kYarnContainer, name + 1)) {
    size_t begin = line.find_last_of(kEnds, name);
    begin = begin == std::string::npos ? 0 : begin + 1;
    if (begin < from || line[begin] != '/') continue;
    if (auto found = PathFrom(line, begin, name + 1)) return found;
  }
  return std::nullopt;
}

/// The number in `, line 10` at `at`; empty if that is not there. `after`: where the text goes on.
std::string LineNumber(const std::string& line, size_t at, size_t& after) {
  constexpr char kLine[] = "\", line ";
  if (line.compare(at, sizeof(kLine) - 1, kLine) != 0) return "";
  const size_t begin = at + sizeof(kLine) - 1;
  size_t end = begin;
  while (end < line.size() && absl::ascii_isdigit(line[end])) ++end;
  if (end > begin) after = end;
  return line.substr(begin, end - begin);
}

}  // namespace

SourcePaths::SourcePaths(const core::JobView& view, std::string working_folder)
    : working_folder_(std::move(working_folder)) {
  if (view.job.log_folder.empty()) return;
  const fs::path root = fs::path(view.job.log_folder).parent_path();
  const storage::JobFolder folder(root.string());
  containers_.push_back(folder.containers() + "/");
  // A program may name the folder without the links that lead to it.
  std::error_code error;
  const fs::path real = fs::canonical(root, error);
  if (!error && real != root) {
    containers_.push_back(storage::JobFolder(real.string()).containers() + "/");
  }
  if (!fs::exists(folder.job_xml(), error)) return;
  jobfile::Sources sources;
  sources.job_file = folder.job_xml();
  source_folder_ =
      jobfile::LoadConfiguration(sources).configuration.GetText("tony.application.src-dir");
}

std::string SourcePaths::NameOf(const std::string& inside) const {
  if (source_folder_.empty()) return inside;
  const fs::path file = fs::path(source_folder_) / inside;
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return inside;
  const std::string path = file.lexically_normal().string();
  const std::string below = absl::StrCat(working_folder_, working_folder_ == "/" ? "" : "/");
  return absl::StartsWith(path, below) ? path.substr(below.size()) : path;
}

std::string SourcePaths::Rewrite(const std::string& line) const {
  std::string text;
  size_t done = 0;
  while (true) {
    std::optional<FoundPath> found;
    for (const std::string& folder : containers_) {
      const std::optional<FoundPath> path = FindBelow(folder, line, done);
      if (path && (!found || path->begin < found->begin)) found = path;
    }
    if (containers_.empty()) found = FindOnYarn(line, done);
    if (!found) break;
    absl::StrAppend(&text, line.substr(done, found->begin - done),
                    NameOf(line.substr(found->inside, found->end - found->inside)));
    done = found->end;
    const std::string number = LineNumber(line, found->end, done);
    if (!number.empty()) absl::StrAppend(&text, ":", number, "\"");
  }
  return text + line.substr(done);
}

std::vector<std::string> SourcePaths::Rewrite(const std::vector<std::string>& lines) const {
  std::vector<std::string> result;
  for (const std::string& line : lines) result.push_back(Rewrite(line));
  return result;
}

}  // namespace tony::client
