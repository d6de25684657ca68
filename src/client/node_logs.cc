// NodeManagers' web services: a list of files, then each of them.
#include "client/node_logs.h"

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/container_log.h"
#include "common/status_macros.h"
#include "os/files.h"

namespace tony::client {
namespace {

/// Where a NodeManager writes what it knows of a log, ahead of it.
constexpr char kLength[] = "\nLogLength:";
constexpr char kContents[] = "\nLogContents:\n";
constexpr size_t kMostHeaderBytes = 4096;

/// Of "http://HOST:PORT/node/containerlogs/CONTAINER/USER".
struct ContainerUrl {
  std::string server;
  std::string container;
};

std::optional<ContainerUrl> ParseUrl(const std::string& url) {
  const std::vector<std::string> parts = absl::StrSplit(url, '/');
  if (parts.size() != 7 || parts[3] != "node" || parts[4] != "containerlogs") return std::nullopt;
  return ContainerUrl{absl::StrCat(parts[0], "//", parts[2]), parts[5]};
}

/// What a NodeManager sends between its own words: `part` comes piece by piece.
class LogBody {
 public:
  explicit LogBody(const std::string& path) : file_(path, std::ios::binary) {}

  absl::Status Take(const char* data, size_t size) {
    if (left_ < 0) {
      header_.append(data, size);
      const size_t contents = header_.find(kContents);
      if (contents == std::string::npos) {
        if (header_.size() <= kMostHeaderBytes) return absl::OkStatus();
        return absl::DataLossError("this is no log as NodeManagers send it");
      }
      const size_t length = header_.find(kLength);
      const size_t begin = length + std::string(kLength).size();
      if (length == std::string::npos ||
          !absl::SimpleAtoi(header_.substr(begin, header_.find('\n', begin) - begin), &left_)) {
        return absl::DataLossError("the NodeManager does not say how long the log is");
      }
      const std::string rest = header_.substr(contents + std::string(kContents).size());
      return Write(rest.data(), rest.size());
    }
    return Write(data, size);
  }

  bool ok() const { return file_.good() && left_ == 0; }

 private:
  absl::Status Write(const char* data, size_t size) {
    const size_t part = std::min(size, static_cast<size_t>(left_));
    file_.write(data, static_cast<std::streamsize>(part));
    left_ -= static_cast<int64_t>(part);
    return file_.good() ? absl::OkStatus() : absl::ResourceExhaustedError("cannot write a log");
  }

  std::ofstream file_;
  std::string header_;
  int64_t left_ = -1;  ///< of the log; -1: its length is not known yet
};

}  // namespace

absl::StatusOr<std::unique_ptr<NodeLogs>> NodeLogs::Make(bool kerberos, Duration timeout) {
  TONY_ASSIGN_OR_RETURN(hadoop::HttpClient http, hadoop::HttpClient::Create(timeout));
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "tony-logs-XXXXXX";
  if (error) return os::ErrnoError(error.value(), "no folder for temporary files");
  if (mkdtemp(path.data()) == nullptr) return os::ErrnoError(errno, path);
  return std::unique_ptr<NodeLogs>(
      new NodeLogs(backend::JobFolder(path), std::move(http), kerberos));
}

NodeLogs::~NodeLogs() { (void)os::RemoveTree(folder_.root()); }

absl::StatusOr<std::string> NodeLogs::Get(const std::string& url) {
  TONY_ASSIGN_OR_RETURN(const hadoop::HttpResponse response,
                        http_.Send({.method = "GET", .url = url, .negotiate = kerberos_}));
  if (response.code == 200) return response.body;
  return absl::UnavailableError(absl::StrCat(url, " answers with code ", response.code));
}

absl::Status NodeLogs::Copy(const std::vector<Source>& sources) {
  bool some = sources.empty();
  absl::Status last;
  for (const Source& source : sources) {
    const absl::Status copied = CopyContainer(source);
    some = some || copied.ok();
    if (copied.ok()) continue;
    last = copied;
    absl::StrAppend(&missing_, missing_.empty() ? "" : "; ", source.task, ": ",
                    std::string(copied.message()));
  }
  return some ? absl::OkStatus() : last;
}

absl::Status NodeLogs::CopyContainer(const Source& source) {
  const std::optional<ContainerUrl> url = ParseUrl(source.url);
  if (!url) return absl::InvalidArgumentError(absl::StrCat(source.url, " is no container's"));
  const std::string logs =
      absl::StrCat(url->server, "/ws/v1/node/containers/", url->container, "/logs");
  TONY_ASSIGN_OR_RETURN(const std::string text, Get(logs));
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto found = answer.find("containerLogsInfo");
  if (found == answer.end()) return absl::UnavailableError(absl::StrCat(logs, " has no logs"));
  nlohmann::json lists = *found;
  // One object, or a list of one for what is here and one for what was collected.
  if (!lists.is_array()) lists = nlohmann::json::array({lists});
  for (const nlohmann::json& list : lists) {
    for (const nlohmann::json& file : list.value("containerLogInfo", nlohmann::json::array())) {
      const std::string name = file.value("fileName", "");
      const std::optional<std::string> own = TaskLogName(source.task, name);
      if (!own) continue;
      const std::string path = absl::StrCat(folder_.logs(), "/", *own);
      TONY_RETURN_IF_ERROR(os::MakeFolders(path.substr(0, path.rfind('/'))));
      TONY_RETURN_IF_ERROR(CopyFile(absl::StrCat(logs, "/", name), path));
    }
  }
  return absl::OkStatus();
}

absl::Status NodeLogs::CopyFile(const std::string& url, const std::string& path) {
  LogBody body(path);
  TONY_ASSIGN_OR_RETURN(
      const hadoop::HttpResponse response,
      http_.Send({.method = "GET",
                  .url = url,
                  .negotiate = kerberos_,
                  .sink = [&](const char* data, size_t size) { return body.Take(data, size); }}));
  if (response.code == 200 && body.ok()) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(url, " answers with code ", response.code,
                                             body.ok() ? "" : ", and only with a part of the log"));
}

}  // namespace tony::client
