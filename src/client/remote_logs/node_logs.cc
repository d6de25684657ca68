// Uses the web service of each container's NodeManager: `GET …/logs` lists the files, then `GET
// …/logs/NAME` fetches each. A NodeManager wraps a log in lines of its own; LogBody takes the log
// out of them.
#include "client/remote_logs/node_logs.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "history/log_receiver.h"
#include "logs/container_logs.h"
#include "os/files/files.h"
#include "yarnlogs/log_origins.h"

namespace tony::client {
namespace {

/// Fields of the header that a NodeManager writes ahead of a log.
constexpr char kLength[] = "\nLogLength:";
constexpr char kContents[] = "\nLogContents:\n";
constexpr size_t kMostHeaderBytes = 4096;
/// After this many requests in a row without an answer, no further node is asked: each such request
/// takes until its deadline.
constexpr int kMostUnreached = 3;

using Json = nlohmann::json;

/// `json` as a list: Java's JSON writers write a list of one element as that element.
Json AsList(const Json& json) { return json.is_array() ? json : Json::array({json}); }

/// A log as a node lists it. A plain value.
struct ListedLog {
  std::string name;
  int64_t bytes = -1;  ///< -1: the node does not say
};

int64_t ParseSize(const Json& file) {
  int64_t bytes = -1;
  const bool said = file.contains("fileSize") && file["fileSize"].is_string();
  return said && absl::SimpleAtoi(file["fileSize"].get<std::string>(), &bytes) ? bytes : -1;
}

/// Parses a node's answer to `GET …/logs`: all logs whose names are strings. Nothing when the
/// answer has another form.
std::optional<std::vector<ListedLog>> ParseList(const std::string& text) {
  const Json answer = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object() || !answer.contains("containerLogsInfo")) return std::nullopt;
  std::vector<ListedLog> logs;
  for (const Json& list : AsList(answer["containerLogsInfo"])) {
    if (!list.is_object() || !list.contains("containerLogInfo")) continue;
    for (const Json& file : AsList(list["containerLogInfo"])) {
      const bool named = file.is_object() && file.contains("fileName");
      if (named && file["fileName"].is_string())
        logs.push_back({file["fileName"], ParseSize(file)});
    }
  }
  return logs;
}

/// Takes the log out of a NodeManager's answer, which comes piece by piece, and writes it into the
/// mirror.
class LogBody {
 public:
  LogBody(history::LogMirror& mirror, const history::LogOrigin& origin,
          const logs::ContainerLogFile& file)
      : mirror_(mirror), origin_(origin) {
    piece_.file = file;
  }

  absl::Status Take(const char* data, size_t size) {
    if (length_ >= 0) return Write({data, size});
    header_.append(data, size);
    const size_t contents = header_.find(kContents);
    if (contents == std::string::npos) {
      if (header_.size() <= kMostHeaderBytes) return absl::OkStatus();
      return absl::DataLossError("this is no log as NodeManagers send it");
    }
    const size_t length = header_.find(kLength);
    const size_t begin = length + std::string(kLength).size();
    if (length == std::string::npos ||
        !absl::SimpleAtoi(header_.substr(begin, header_.find('\n', begin) - begin), &length_) ||
        length_ < 0) {
      return absl::DataLossError("the NodeManager does not say how long the log is");
    }
    // A file that has become shorter than its copy is another file, so it gets a new version.
    piece_.version = mirror_.VersionOf(origin_, piece_.file);
    if (length_ < mirror_.SizeOf(origin_, piece_.file)) ++piece_.version;
    return Write(header_.substr(contents + std::string(kContents).size()));
  }

  bool ok() const { return length_ >= 0 && piece_.offset == length_; }

 private:
  absl::Status Write(std::string bytes) {
    // The NodeManager writes a trailer after the log, which is cut off.
    bytes.resize(std::min(bytes.size(), static_cast<size_t>(length_ - piece_.offset)));
    piece_.bytes = std::move(bytes);
    TONY_RETURN_IF_ERROR(mirror_.Take(origin_, piece_));
    piece_.offset += static_cast<int64_t>(piece_.bytes.size());
    return absl::OkStatus();
  }

  history::LogMirror& mirror_;
  const history::LogOrigin& origin_;
  logs::LogPiece piece_;
  std::string header_;
  int64_t length_ = -1;
};

/// Appends `sentence` to `sentences`.
void Add(std::string& sentences, const std::string& sentence) {
  absl::StrAppend(&sentences, sentences.empty() ? "" : "; ", sentence);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeLogs>> NodeLogs::Make(bool kerberos, Duration timeout) {
  TONY_ASSIGN_OR_RETURN(http::HttpClient http, http::HttpClient::Create(timeout));
  std::error_code error;
  const std::string parent = std::filesystem::temp_directory_path(error);
  if (error) return os::ErrnoError(error.value(), "no folder for temporary files");
  TONY_ASSIGN_OR_RETURN(std::unique_ptr<LogFolder> folder, LogFolder::Make(parent));
  return std::unique_ptr<NodeLogs>(new NodeLogs(std::move(folder), std::move(http), kerberos));
}

absl::StatusOr<std::string> NodeLogs::Get(const std::string& url) {
  if (unreached_ >= kMostUnreached) {
    return absl::UnavailableError("the nodes' web services cannot be reached from here");
  }
  const absl::StatusOr<http::HttpResponse> response =
      http_.Send({.method = "GET", .url = url, .negotiate = kerberos_});
  unreached_ = response.ok() ? 0 : unreached_ + 1;
  TONY_RETURN_IF_ERROR(response.status());
  if (response->code == 200) return response->body;
  return absl::UnavailableError(absl::StrCat(url, " answers with code ", response->code));
}

absl::Status NodeLogs::Copy(const std::vector<history::LogOrigin>& origins,
                            const history::LogSelection& selection) {
  // One node that answers is a success: logs of a job are often spread over nodes of which some are
  // gone.
  bool some = origins.empty();
  absl::Status last;
  for (const history::LogOrigin& origin : origins) {
    const absl::StatusOr<std::string> missing = CopyFrom(origin, selection);
    some = some || missing.ok();
    if (!missing.ok()) last = missing.status();
    const std::string what = missing.ok() ? *missing : std::string(missing.status().message());
    if (!what.empty()) Add(missing_, absl::StrCat(origin.task, ": ", what));
  }
  return some ? absl::OkStatus() : last;
}

absl::StatusOr<std::string> NodeLogs::CopyFrom(const history::LogOrigin& origin,
                                               const history::LogSelection& selection) {
  const std::optional<yarnlogs::ContainerUrl> url = yarnlogs::ParseContainerUrl(origin.url);
  if (!url) return absl::InvalidArgumentError(absl::StrCat("'", origin.url, "' is no container's"));
  const std::string logs =
      absl::StrCat(url->server, "/ws/v1/node/containers/", url->container, "/logs");
  TONY_ASSIGN_OR_RETURN(const std::string text, Get(logs));
  const std::optional<std::vector<ListedLog>> listed = ParseList(text);
  if (!listed) return absl::UnavailableError(absl::StrCat(logs, " does not say what logs it has"));
  bool some = false;
  std::string missing;
  for (const auto& [name, bytes] : *listed) {
    const std::optional<logs::ContainerLogFile> file = logs::ParseContainerLog(name);
    if (!file || !history::IsSelected(origin, selection, *file)) continue;
    // The copy is complete already.
    if (bytes >= 0 && bytes == mirror_.SizeOf(origin, *file)) continue;
    const absl::Status copied = CopyFile(absl::StrCat(logs, "/", name), origin, *file);
    some = some || copied.ok();
    if (!copied.ok()) Add(missing, absl::StrCat(name, ": ", std::string(copied.message())));
  }
  if (!some && !missing.empty()) return absl::UnavailableError(missing);
  return missing;
}

absl::Status NodeLogs::CopyFile(const std::string& url, const history::LogOrigin& origin,
                                const logs::ContainerLogFile& file) {
  LogBody body(mirror_, origin, file);
  TONY_ASSIGN_OR_RETURN(
      const http::HttpResponse response,
      http_.Send({.method = "GET",
                  .url = url,
                  .negotiate = kerberos_,
                  .sink = [&](const char* data, size_t size) { return body.Take(data, size); }}));
  if (response.code == 200 && body.ok()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(url, " answers with code ", response.code,
                                             body.ok() ? "" : ", and only with a part of the log"));
}

}  // namespace tony::client
