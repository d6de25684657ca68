// YARN's rules for log folders: one pair of root and suffix per file format, then the common ones.
#include "backend/yarn/log_locations.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "backend/yarn/uri.h"
#include "common/status_macros.h"

namespace tony::backend {
namespace {

constexpr char kRootKey[] = "yarn.nodemanager.remote-app-log-dir";
constexpr char kDefaultRoot[] = "/tmp/logs";
constexpr char kDefaultSuffix[] = "logs";
// Number of bucket folders over which Hadoop spreads applications.
constexpr int64_t kBuckets = 10000;

/// The value of `key`, or `fallback` if it is empty.
absl::StatusOr<std::string> TextOr(const hadoop::Configuration& configuration,
                                   const std::string& key, const std::string& fallback) {
  TONY_ASSIGN_OR_RETURN(std::string text, configuration.Text(key));
  return text.empty() ? fallback : text;
}

absl::StatusOr<LogLocation> LocationAt(const hadoop::Configuration& configuration,
                                       const std::string& root, const std::string& suffix) {
  std::string uri = root;
  if (!IsUri(root)) {
    TONY_ASSIGN_OR_RETURN(uri, configuration.Text("fs.defaultFS"));
  }
  LogLocation location{.hdfs = {}, .root = PathOfUri(root), .suffix = suffix};
  if (absl::StartsWith(uri, "file:")) return location;
  if (!absl::StartsWith(uri, "hdfs://")) {
    return configuration.Complaint(
        absl::StatusCode::kUnimplemented, kRootKey,
        absl::StrCat("tony cannot read the logs that YARN collects in ", uri),
        "yarn logs -applicationId shows them");
  }
  TONY_ASSIGN_OR_RETURN(location.hdfs, hadoop::FindNameService(configuration, uri));
  return location;
}

/// Authority of the HDFS that holds the location; empty: no HDFS.
std::string AuthorityOf(const LogLocation& location) {
  return location.hdfs ? location.hdfs->authority : "";
}

}  // namespace

absl::StatusOr<std::vector<LogLocation>> FindLogLocations(
    const hadoop::Configuration& configuration) {
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> formats,
                        configuration.List("yarn.log-aggregation.file-formats"));
  // YARN reads TFile whatever other format it writes.
  formats.push_back("TFile");
  TONY_ASSIGN_OR_RETURN(const std::string common_root,
                        TextOr(configuration, kRootKey, kDefaultRoot));
  TONY_ASSIGN_OR_RETURN(const std::string common_suffix,
                        TextOr(configuration, absl::StrCat(kRootKey, "-suffix"), kDefaultSuffix));
  std::vector<LogLocation> locations;
  const auto add = [&](const std::string& root, const std::string& suffix) {
    TONY_ASSIGN_OR_RETURN(LogLocation location, LocationAt(configuration, root, suffix));
    const bool known =
        std::any_of(locations.begin(), locations.end(), [&](const LogLocation& other) {
          return AuthorityOf(other) == AuthorityOf(location) && other.root == location.root &&
                 other.suffix == location.suffix;
        });
    if (!known) locations.push_back(std::move(location));
    return absl::OkStatus();
  };
  for (const std::string& format : formats) {
    const std::string key = absl::StrCat("yarn.log-aggregation.", format, ".remote-app-log-dir");
    TONY_ASSIGN_OR_RETURN(const std::string root, TextOr(configuration, key, common_root));
    TONY_ASSIGN_OR_RETURN(const std::string suffix,
                          TextOr(configuration, absl::StrCat(key, "-suffix"),
                                 absl::StrCat(common_suffix, "-", absl::AsciiStrToLower(format))));
    TONY_RETURN_IF_ERROR(add(root, suffix));
    // Suffix that IFile had before Hadoop 3.3.
    if (absl::StartsWith(format, "I")) {
      TONY_RETURN_IF_ERROR(add(root, absl::StrCat(common_suffix, "-ifile")));
    }
  }
  TONY_RETURN_IF_ERROR(add(common_root, common_suffix));
  return locations;
}

absl::StatusOr<std::vector<std::string>> LogFolders(const LogLocation& location,
                                                    const std::string& user,
                                                    const std::string& application) {
  int64_t number = 0;
  if (!absl::SimpleAtoi(application.substr(application.rfind('_') + 1), &number) || number < 0) {
    return absl::InvalidArgumentError(absl::StrCat(application, " is no application's id"));
  }
  const std::string own = absl::StrCat(location.root, "/", user, "/");
  return std::vector<std::string>{
      absl::StrCat(own, "bucket-", location.suffix, "/", absl::StrFormat("%04d", number % kBuckets),
                   "/", application),
      absl::StrCat(own, location.suffix, "/", application)};
}

}  // namespace tony::backend
