// A segment's number is a suffix of five digits, except for the first segment; a record of times is
// two little-endian 64-bit numbers.
#include "logs/log_segments.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tony::logs {
namespace {

constexpr char kLogSuffix[] = ".log";
constexpr char kTimesSuffix[] = ".times";
/// Five digits keep `cat stdout.log*` in the right order.
constexpr size_t kNumberDigits = 5;

std::string WithNumber(const std::string& name, int number) {
  if (number == 1) return name;
  char digits[16];
  std::snprintf(digits, sizeof digits, ".%0*d", static_cast<int>(kNumberDigits), number);
  return absl::StrCat(name, digits);
}

void PutNumber(int64_t number, char* to) {
  for (int byte = 0; byte < 8; ++byte) to[byte] = static_cast<char>(number >> (8 * byte));
}

int64_t GetNumber(const char* from) {
  uint64_t number = 0;
  for (int byte = 7; byte >= 0; --byte) number = number << 8 | static_cast<uint8_t>(from[byte]);
  return static_cast<int64_t>(number);
}

}  // namespace

std::string LogSegmentPath(const std::string& path, int number) { return WithNumber(path, number); }

// Only names that LogSegmentPath() can produce are accepted: at least five digits, a number of at
// least 2, and ".log" before them.
std::optional<LogSegmentName> ParseLogSegment(const std::string& path) {
  if (absl::EndsWith(path, kLogSuffix)) return LogSegmentName{path, 1};
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.size() - dot - 1 < kNumberDigits) return std::nullopt;
  const std::string digits = path.substr(dot + 1);
  LogSegmentName name{path.substr(0, dot), 0};
  if (!std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit) ||
      !absl::SimpleAtoi(digits, &name.number) || name.number < 2 ||
      !absl::EndsWith(name.path, kLogSuffix)) {
    return std::nullopt;
  }
  return name;
}

// The folder is listed instead of probing numbers, because the numbers may have a gap after the
// first.
std::vector<int> FindLogSegments(const std::string& path) {
  std::vector<int> numbers;
  std::error_code error;
  const std::filesystem::path log(path);
  std::filesystem::directory_iterator entry(log.parent_path(), error);
  while (!error && entry != std::filesystem::directory_iterator()) {
    const std::optional<LogSegmentName> name = ParseLogSegment(entry->path().string());
    if (name && name->path == path) numbers.push_back(name->number);
    entry.increment(error);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::string LogTimesPath(const std::string& path, int number) {
  const std::string stem = path.substr(0, path.size() - (sizeof kLogSuffix - 1));
  return WithNumber(absl::StrCat(stem, kTimesSuffix), number);
}

std::string EncodeLogTime(const LogTime& time) {
  std::string record(kLogTimeBytes, '\0');
  PutNumber(time.offset, record.data());
  PutNumber(time.unix_millis, record.data() + 8);
  return record;
}

// A record that is written only in part at the end of the file is not returned.
std::vector<LogTime> ReadLogTimes(int fd, int64_t first, size_t count) {
  std::string bytes(count * kLogTimeBytes, '\0');
  ssize_t length;
  do {
    length = pread(fd, bytes.data(), bytes.size(), first * kLogTimeBytes);
  } while (length < 0 && errno == EINTR);
  std::vector<LogTime> times;
  for (int64_t at = 0; at + kLogTimeBytes <= length; at += kLogTimeBytes) {
    times.push_back({GetNumber(bytes.data() + at), GetNumber(bytes.data() + at + 8)});
  }
  return times;
}

}  // namespace tony::logs
