// Files in HDFS, over HTTP.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "hadoop/auth/token.h"
#include "hadoop/hdfs/hdfs_file_status.h"
#include "hadoop/hdfs/http_client.h"
#include "hadoop/rpc/cluster_addresses.h"

namespace tony::hadoop {

struct WebHdfsOptions {
  NameService name_service;
  std::string user;            ///< without token and Kerberos: the name that is told and believed
  std::optional<Token> token;  ///< a delegation token
  bool kerberos = false;       ///< SPNEGO with the user's ticket, where there is no token
  Duration timeout = std::chrono::seconds(30);  ///< for connecting, and without a byte moving
};

/// Each call tries the NameNode that answered last, then the others. Paths are absolute, without
/// scheme and host. Blocks. Not thread safe.
///
/// Where the NameNode speaks HTTPS, so do its DataNodes: PermissionDenied – it names one by http.
///
/// All calls: Unavailable – no NameNode answers, or none is active and out of safe mode;
/// Unauthenticated – it does not know who we are; otherwise the codes of RemoteException, e.g.
/// PermissionDenied, NotFound, ResourceExhausted (a quota).
class WebHdfs {
 public:
  using Source = std::function<absl::StatusOr<size_t>(char* data, size_t size)>;
  using Sink = std::function<absl::Status(const char* data, size_t size)>;

  /// FailedPrecondition – libcurl is missing.
  static absl::StatusOr<WebHdfs> Create(WebHdfsOptions options);

  /// The user's own folder, which need not be there.
  absl::StatusOr<std::string> HomeFolder();
  absl::StatusOr<HdfsFileStatus> Status(const std::string& path);
  absl::StatusOr<std::vector<HdfsFileStatus>> List(const std::string& path);
  /// With all that is missing above it; it may be there already.
  absl::Status MakeFolders(const std::string& path, int mode);
  /// A file of what `source` gives (see HttpRequest), with its folders. AlreadyExists – it is
  /// there, without `overwrite`.
  absl::Status Create(const std::string& path, int mode, bool overwrite, const Source& source);
  /// The same with contents in memory.
  absl::Status Write(const std::string& path, int mode, bool overwrite,
                     const std::string& contents);
  /// Hands the file's bytes to `sink`, whose error ends it.
  absl::Status Read(const std::string& path, const Sink& sink);
  /// `size` bytes from `offset` on, which lies within the file; fewer where it ends.
  absl::StatusOr<std::string> ReadRange(const std::string& path, int64_t offset, size_t size);
  /// The file's bytes, up to `most_bytes`. ResourceExhausted – it has more.
  absl::StatusOr<std::string> Read(const std::string& path, size_t most_bytes);
  /// A new extended attribute, "user.NAME", of a file or folder: bytes that the NameNode keeps.
  /// AlreadyExists – it has one of that name; what a NameNode allows at most, 16 KiB each and 32 of
  /// them unless it was configured, is told by it in several ways.
  absl::Status AddAttribute(const std::string& path, const std::string& name,
                            const std::string& value);
  /// All attributes "user.…", by name.
  absl::StatusOr<std::map<std::string, std::string>> Attributes(const std::string& path);
  /// False: there was nothing. FailedPrecondition and others – a folder that is not empty, without
  /// `recursive`.
  absl::StatusOr<bool> Delete(const std::string& path, bool recursive);
  /// In one step, replacing a file that is called `to`.
  absl::Status Rename(const std::string& from, const std::string& to);
  /// The same where nothing is called `to`. AlreadyExists – something is.
  absl::Status RenameToNew(const std::string& from, const std::string& to);

  /// A delegation token for this HDFS, that `renewer`, the ResourceManager's principal, may renew;
  /// with the kind and the service that HDFS's own clients know it by. FailedPrecondition – the
  /// cluster has no security, and so no tokens.
  absl::StatusOr<Token> GetDelegationToken(const std::string& renewer);
  /// When it then ends, in milliseconds since 1970.
  absl::StatusOr<int64_t> RenewDelegationToken(const Token& token);
  absl::Status CancelDelegationToken(const Token& token);

 private:
  /// What is asked: an operation, on a path, with more of the URL's query ("&a=b").
  struct Question {
    std::string method;
    std::string operation;
    std::string path;
    std::string more;
  };

  WebHdfs(WebHdfsOptions options, HttpClient http)
      : options_(std::move(options)), http_(std::move(http)) {}

  absl::StatusOr<HttpResponse> Ask(const Question& question);
  absl::Status RenameAs(const std::string& from, const std::string& to, const std::string& option);
  absl::StatusOr<HttpResponse> AskNameNode(const Endpoint& server, const Question& question);
  absl::StatusOr<std::string> DataNodeUrl(const Question& question);
  absl::Status Transfer(const Question& question, const Source& source, const Sink& sink);
  std::string Credentials() const;

  WebHdfsOptions options_;
  HttpClient http_;
  size_t active_ = 0;  ///< index of the NameNode that answered last
};

}  // namespace tony::hadoop
