// Parses the JSON in WebHDFS' answers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/hdfs/hdfs_file_status.h"
#include "http/http_client.h"

// All functions that parse `text`: DataLoss – it is not the JSON that WebHDFS answers there.
namespace tony::hadoop {

/// Translates a response with a code other than 2xx into a status. The codes of RemoteException;
/// Unauthenticated – 401 without an exception; Unknown – no reason is given.
absl::Status WebHdfsError(const http::HttpResponse& response);

/// Parses {"FileStatus": {…}}.
absl::StatusOr<HdfsFileStatus> ParseFileStatus(const std::string& text);
/// Parses {"FileStatuses": {"FileStatus": [{…}, …]}}.
absl::StatusOr<std::vector<HdfsFileStatus>> ParseFileStatuses(const std::string& text);
/// Parses {"boolean": true}.
absl::StatusOr<bool> ParseBooleanAnswer(const std::string& text);
/// Parses {"long": 12}.
absl::StatusOr<int64_t> ParseLongAnswer(const std::string& text);
/// Parses {"XAttrs": [{"name": "user.a", "value": "0sYWJj"}]}; the values are decoded.
absl::StatusOr<std::map<std::string, std::string>> ParseAttributes(const std::string& text);
/// Parses {"Path": "/user/ann"}.
absl::StatusOr<std::string> ParsePathAnswer(const std::string& text);
/// Parses {"Token": {"urlString": "…"}}; empty if Token is null, as without security.
absl::StatusOr<std::string> ParseTokenAnswer(const std::string& text);

}  // namespace tony::hadoop
