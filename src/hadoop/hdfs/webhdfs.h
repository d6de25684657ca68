// A client for HDFS over its REST interface, WebHDFS.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "hadoop/auth/token.h"
#include "hadoop/hdfs/hdfs_file_status.h"
#include "hadoop/rpc/cluster_addresses.h"
#include "http/http_client.h"

namespace tony::hadoop {

/// The HDFS and the client's identity. A plain value.
struct WebHdfsOptions {
  NameService name_service;
  std::string user;            ///< the user's name, sent if there is no token and no Kerberos
  std::optional<Token> token;  ///< a delegation token; comes before Kerberos
  bool kerberos = false;       ///< SPNEGO with the user's ticket, if there is no token
  Duration timeout = std::chrono::seconds(30);  ///< see http::HttpClient::Create
  std::stop_token stop = {};                    ///< ends each call: Cancelled
};

/// A client of one HDFS. Each call tries the NameNode that answered last, then the others. Paths
/// are absolute, without scheme and host. Blocks. Not thread safe.
///
/// All calls: Unavailable – no NameNode answers, or none is active and out of safe mode;
/// Unauthenticated – the token or the ticket is missing or not valid; DataLoss – the answer is not
/// understood; otherwise the codes of RemoteException, e.g. PermissionDenied, NotFound,
/// ResourceExhausted (a quota). Transfers also: PermissionDenied – the NameNode speaks HTTPS but
/// redirects to a DataNode over plain HTTP.
class WebHdfs {
 public:
  using Source = std::function<absl::StatusOr<size_t>(char* data, size_t size)>;
  using Sink = std::function<absl::Status(const char* data, size_t size)>;

  /// FailedPrecondition – libcurl is missing.
  static absl::StatusOr<WebHdfs> Create(WebHdfsOptions options);

  /// The user's home folder, which may not exist.
  absl::StatusOr<std::string> HomeFolder();
  absl::StatusOr<HdfsFileStatus> Status(const std::string& path);
  /// The entries of the folder `path`; for a file, one entry without a name.
  absl::StatusOr<std::vector<HdfsFileStatus>> List(const std::string& path);
  /// Makes the folder `path` and its missing parents. An existing folder is no error.
  absl::Status MakeFolders(const std::string& path, int mode);
  /// Writes a file with the bytes of `source` (see http::HttpRequest); missing folders are made.
  /// AlreadyExists – the file exists, and `overwrite` is false.
  absl::Status Create(const std::string& path, int mode, bool overwrite, const Source& source);
  /// Create() with contents in memory.
  absl::Status Write(const std::string& path, int mode, bool overwrite,
                     const std::string& contents);
  /// Passes the file's bytes to `sink`. An error of `sink` ends the transfer and is returned.
  absl::Status Read(const std::string& path, const Sink& sink);
  /// `size` bytes from `offset` on, fewer at the end of the file. `offset` lies within the file.
  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset, size_t size);
  /// The whole file. ResourceExhausted – it has more than `most_bytes`.
  absl::StatusOr<std::string> Read(const std::string& path, size_t most_bytes);
  /// Adds the extended attribute `name`, "user.NAME", to a file or folder. AlreadyExists – it has
  /// an attribute of that name. A NameNode allows 32 attributes of 16 KiB each by default and
  /// reports an excess with various codes.
  absl::Status AddAttribute(const std::string& path, const std::string& name,
                            const std::string& value);
  /// The values of all attributes "user.…", by name.
  absl::StatusOr<std::map<std::string, std::string>> Attributes(const std::string& path);
  /// Deletes a file or folder. False: nothing was there. FailedPrecondition and other codes – a
  /// folder is not empty, and `recursive` is false.
  absl::StatusOr<bool> Delete(const std::string& path, bool recursive);
  /// Renames atomically; an existing file `to` is replaced.
  absl::Status Rename(const std::string& from, const std::string& to);
  /// Renames atomically if `to` does not exist. AlreadyExists – it does.
  absl::Status RenameToNew(const std::string& from, const std::string& to);

  /// Gets a delegation token for this HDFS that `renewer`, the ResourceManager's principal, may
  /// renew. Kind and service are those by which HDFS' own clients find it. FailedPrecondition – the
  /// cluster has no security and so no tokens.
  absl::StatusOr<Token> GetDelegationToken(const std::string& renewer);
  /// Renews `token` and returns its new expiry time, in milliseconds since 1970.
  absl::StatusOr<int64_t> RenewDelegationToken(const Token& token);
  /// Cancels `token`: nobody can use it afterwards.
  absl::Status CancelDelegationToken(const Token& token);

 private:
  /// A request to the NameNode, without server and credentials.
  struct Question {
    std::string method;     ///< HTTP method
    std::string operation;  ///< value of `op` in the query
    std::string path;
    std::string more;  ///< further parameters of the query: "&a=b", already encoded
  };

  WebHdfs(WebHdfsOptions options, http::HttpClient http)
      : options_(std::move(options)), http_(std::move(http)) {}

  absl::StatusOr<http::HttpResponse> Ask(const Question& question);
  absl::Status RenameAs(const std::string& from, const std::string& to, const std::string& option);
  absl::StatusOr<http::HttpResponse> AskNameNode(const Endpoint& server, const Question& question);
  absl::StatusOr<std::string> DataNodeUrl(const Question& question);
  absl::Status Transfer(const Question& question, const Source& source, const Sink& sink);
  std::string Credentials() const;

  WebHdfsOptions options_;
  http::HttpClient http_;
  size_t active_ = 0;  ///< index of the NameNode that answered last
};

}  // namespace tony::hadoop
