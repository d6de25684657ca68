// The ApplicationMaster checks the files again, since they may have changed meanwhile.
#include "jobfile/job/secret_file_rules.h"

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "jobfile/job/key_check.h"
#include "jobfile/values/bearer_token.h"
#include "jobfile/xml/files.h"

namespace tony::jobfile {
namespace {

namespace fs = std::filesystem;

constexpr char kAlertsSecret[] = "tony.alerts.secret-file";
constexpr char kMetricsToken[] = "tony.metrics.token-file";
/// A file with a token has not much more than the token.
constexpr int64_t kMostTokenFileBytes = 4096;

bool OthersHaveAccess(const std::string& path) {
  std::error_code error;
  const fs::perms mode = fs::status(path, error).permissions();
  return !error && (mode & (fs::perms::group_all | fs::perms::others_all)) != fs::perms::none;
}

}  // namespace

void CheckSecretFiles(const Configuration& configuration, BuildResult* result) {
  for (const char* const key : {kAlertsSecret, kMetricsToken}) {
    const std::string file = configuration.GetText(key);
    if (file.empty() || !OthersHaveAccess(file)) continue;
    result->problems.push_back(
        ProblemAt(configuration, key, absl::StrCat("others than its owner have access to ", file),
                  absl::StrCat("run: chmod 600 ", file)));
  }
  const std::string file = configuration.GetText(kMetricsToken);
  if (file.empty()) return;
  // A file that cannot be read is a problem of its key already.
  const absl::StatusOr<std::string> text = ReadFile(file, kMostTokenFileBytes);
  if (!text.ok() && !absl::IsResourceExhausted(text.status())) return;
  const auto token = ParseBearerToken(text.ok() ? *text : "", file);
  if (token.ok()) return;
  result->problems.push_back(
      ProblemAt(configuration, kMetricsToken,
                absl::StrCat(file, " has no token of ", kShortestToken, " to ", kLongestToken,
                             " letters, digits and -._~+/="),
                absl::StrCat("run: openssl rand -hex 32 > ", file)));
}

}  // namespace tony::jobfile
