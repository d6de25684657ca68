// Names of files.
#include "client/container_log.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "backend/yarn/yarn_job.h"

namespace tony::client {
namespace {

/// It becomes a path here.
bool IsPlain(const std::string& name) {
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-';
  });
}

/// Of "executor.log", the first of them, "executor.log.00002", …
bool IsLog(const std::string& name, const std::string& log) {
  return name == log || absl::StartsWith(name, log + ".");
}

}  // namespace

std::optional<std::string> TaskLogName(const std::string& task, const std::string& name) {
  if (!IsPlain(name)) return std::nullopt;
  if (IsLog(name, "executor.log")) return absl::StrCat(task, "/", name);
  const size_t dot = name.find('.');
  if (!absl::StartsWith(name, "attempt-") || dot == std::string::npos) return std::nullopt;
  const std::string stream = name.substr(dot + 1);
  if (!absl::StartsWith(stream, "stdout.") && !absl::StartsWith(stream, "stderr.")) {
    return std::nullopt;
  }
  return absl::StrCat(task, "/", name.substr(0, dot), "/", stream);
}

std::optional<std::string> MasterLogName(const std::string& name) {
  const std::string log = backend::kMasterLog;
  if (!IsPlain(name) || !IsLog(name, log)) return std::nullopt;
  return absl::StrCat("am.log", name.substr(log.size()));
}

}  // namespace tony::client
