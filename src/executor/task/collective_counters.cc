// The files are written by the user's program, so everything read here is bounded: the number of
// files, the bytes of each, and the sums.
#include "executor/task/collective_counters.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/logging.h"

namespace tony::executor {
namespace {

constexpr int kMostFiles = 256;
/// Upper bounds of the sums, so that invented numbers do not overflow them.
constexpr int64_t kMostCounted = int64_t{1} << 60;
constexpr double kMostSeconds = 1e12;

/// Empty if the path is not a plain file or is gone.
std::string Contents(const std::string& path) {
  // O_NOFOLLOW refuses a link to another place; O_NONBLOCK keeps a pipe without a writer from
  // blocking.
  const int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return "";
  std::array<char, 4096> bytes;
  struct stat status;
  const bool plain = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t size = plain ? read(file, bytes.data(), bytes.size()) : 0;
  close(file);
  return std::string(bytes.data(), static_cast<size_t>(std::max<ssize_t>(size, 0)));
}

void Add(absl::string_view text, int64_t& sum) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < 0) return;
  sum = std::min(kMostCounted, sum + std::min(number, kMostCounted));
}

void Add(absl::string_view text, double& sum) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !std::isfinite(number) || number < 0) return;
  sum = std::min(kMostSeconds, sum + number);
}

// Fields with unknown names are skipped, so a program may write more fields than this version
// knows.
void AddFile(const std::string& contents, core::CollectiveUsage& sums) {
  for (const absl::string_view line : absl::StrSplit(contents, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (field.first == "tensors") Add(field.second, sums.tensors);
    if (field.first == "bytes") Add(field.second, sums.bytes);
    if (field.first == "operations") Add(field.second, sums.operations);
    if (field.first == "by_number") Add(field.second, sums.by_number);
    if (field.first == "by_request") Add(field.second, sums.by_request);
    if (field.first == "negotiation_seconds") Add(field.second, sums.negotiation_seconds);
    if (field.first == "operation_seconds") Add(field.second, sums.operation_seconds);
    if (field.first == "waited_for_seconds") Add(field.second, sums.waited_for_seconds);
  }
}

void ForEachFile(const std::string& folder,
                 const std::function<void(const std::string& contents)>& use) {
  if (folder.empty()) return;
  std::error_code error;
  int files = 0;
  for (std::filesystem::directory_iterator each(folder, error), end; !error && each != end;
       each.increment(error)) {
    if (++files > kMostFiles) break;
    const std::string path = each->path().string();
    // A file that is still being written is called *.new.
    if (path.ends_with(".new")) continue;
    const std::string contents = Contents(path);
    if (!contents.empty()) use(contents);
  }
}

}  // namespace

std::string FreshCountersFolder(const std::string& working_folder) {
  const std::string folder = absl::StrCat(working_folder, "/.tony-collective");
  std::error_code error;
  std::filesystem::remove_all(folder, error);
  if (!error) return folder;
  LogWarning(absl::StrCat("collective operations are not counted: ", folder,
                          " cannot be removed: ", error.message()));
  return "";
}

std::optional<core::CollectiveUsage> ReadCollectiveCounters(const std::string& folder) {
  std::optional<core::CollectiveUsage> sums;
  ForEachFile(folder, [&sums](const std::string& contents) {
    if (!sums) sums.emplace();
    AddFile(contents, *sums);
  });
  return sums;
}

std::string ReadCollectiveStall(const std::string& folder) {
  std::string stall;
  ForEachFile(folder, [&stall](const std::string& contents) {
    for (absl::string_view line : absl::StrSplit(contents, '\n')) {
      if (!absl::ConsumePrefix(&line, "stalled ")) continue;
      stall = std::string(line.substr(0, kMostStallBytes));
    }
  });
  return stall;
}

}  // namespace tony::executor
