// The JSON that WebHDFS answers with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/hdfs/hdfs_file_status.h"
#include "hadoop/hdfs/http_client.h"

// All of them: DataLoss – the text is not what WebHDFS says there.
namespace tony::hadoop {

/// The error that a response with a code other than 2xx is. The codes of RemoteException;
/// Unauthenticated – 401; Unknown – no reason is given.
absl::Status WebHdfsError(const HttpResponse& response);

absl::StatusOr<HdfsFileStatus> ParseFileStatus(const std::string& text);
absl::StatusOr<std::vector<HdfsFileStatus>> ParseFileStatuses(const std::string& text);
/// Of {"boolean": true}.
absl::StatusOr<bool> ParseBooleanAnswer(const std::string& text);
/// Of {"long": 12}.
absl::StatusOr<int64_t> ParseLongAnswer(const std::string& text);
/// Of {"XAttrs": [{"name": "user.a", "value": "0sYWJj"}]}.
absl::StatusOr<std::map<std::string, std::string>> ParseAttributes(const std::string& text);
/// Of {"Path": "/user/ann"}.
absl::StatusOr<std::string> ParsePathAnswer(const std::string& text);
/// Of {"Token": {"urlString": "…"}}; empty where Token is null.
absl::StatusOr<std::string> ParseTokenAnswer(const std::string& text);

}  // namespace tony::hadoop
