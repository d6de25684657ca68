// A metadata operation is one request to the NameNode. A transfer takes two: the NameNode redirects
// to a DataNode, and the second request carries the data.
#include "hadoop/hdfs/webhdfs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_file.h"
#include "hadoop/hdfs/webhdfs_json.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::hadoop {
namespace {

constexpr int kRedirected = 307;

bool IsGood(int code) { return code >= 200 && code < 300; }

// Percent-encoding (RFC 3986) of `text`, in which "/" stays as it is.
std::string Encoded(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || absl::StrContains("-._~/", c)) {
      encoded.push_back(c);
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

/// A sink that appends to `contents`. ResourceExhausted – there are more than `most_bytes`.
WebHdfs::Sink UpTo(size_t most_bytes, std::string& contents) {
  return [most_bytes, &contents](const char* data, size_t size) {
    if (contents.size() + size > most_bytes) {
      return absl::ResourceExhaustedError(absl::StrCat("it has more than ", most_bytes, " bytes"));
    }
    contents.append(data, size);
    return absl::OkStatus();
  };
}

std::string Permission(int mode) { return absl::StrFormat("&permission=%o", mode & 07777); }

}  // namespace

absl::StatusOr<WebHdfs> WebHdfs::Create(WebHdfsOptions options) {
  TONY_ASSIGN_OR_RETURN(http::HttpClient http, http::HttpClient::Create(options.timeout));
  return WebHdfs(std::move(options), std::move(http));
}

// The part of the query that identifies the user. With Kerberos it is empty, since SPNEGO
// authenticates the request; `user.name` is believed only by clusters without security.
std::string WebHdfs::Credentials() const {
  if (options_.token.has_value()) {
    return absl::StrCat("&delegation=", FormatTokenText(*options_.token));
  }
  return options_.kerberos ? "" : absl::StrCat("&user.name=", Encoded(options_.user));
}

absl::StatusOr<http::HttpResponse> WebHdfs::AskNameNode(const Endpoint& server,
                                                        const Question& question) {
  const NameService& service = options_.name_service;
  TONY_ASSIGN_OR_RETURN(
      http::HttpResponse response,
      http_.Send({.method = question.method,
                  .url = absl::StrCat(service.https ? "https://" : "http://", ToString(server),
                                      "/webhdfs/v1", Encoded(question.path),
                                      "?op=", question.operation, question.more, Credentials()),
                  .negotiate = options_.kerberos && !options_.token.has_value(),
                  .stop = options_.stop}));
  if (IsGood(response.code) || response.code == kRedirected) return response;
  return WebHdfsError(response);
}

// Failover: each NameNode is asked once, beginning with the one that answered last. A standby
// NameNode answers with StandbyException, which is Unavailable as well. Other errors are the
// answer: the next NameNode would give the same one.
absl::StatusOr<http::HttpResponse> WebHdfs::Ask(const Question& question) {
  const std::vector<Endpoint>& servers = options_.name_service.web;
  absl::Status last;
  for (size_t tried = 0; tried < servers.size(); ++tried) {
    const auto response = AskNameNode(servers[active_], question);
    if (response.ok()) return response;
    last =
        Annotate(response.status(), absl::StrCat("HDFS ", question.operation, " ", question.path));
    if (!absl::IsUnavailable(last)) return last;
    LogInfo("a NameNode does not answer: trying the next one",
            {{"peer", ToString(servers[active_])}, {"why", last.message()}});
    active_ = (active_ + 1) % servers.size();
  }
  return last;
}

absl::StatusOr<std::string> WebHdfs::DataNodeUrl(const Question& question) {
  TONY_ASSIGN_OR_RETURN(const http::HttpResponse response, Ask(question));
  const std::string what = absl::StrCat("HDFS ", question.operation, " ", question.path);
  const bool plain = absl::StartsWith(response.location, "http://");
  if (response.code != kRedirected || !(plain || absl::StartsWith(response.location, "https://"))) {
    return absl::DataLossError(absl::StrCat(what, ": the NameNode names no DataNode"));
  }
  // The redirection's URL holds the delegation token, which the NameNode has put there. A cluster
  // with HTTPS must not get it and the file's contents sent in the clear.
  if (!plain || !options_.name_service.https) return response.location;
  LogWarning("a redirection to plain HTTP is refused", {{"path", question.path}});
  return absl::PermissionDeniedError(absl::StrCat(
      what, ": the NameNode speaks HTTPS and sends on to ",
      response.location.substr(0, response.location.find('?')),
      ", where the token and the file would go unprotected; set dfs.http.policy to HTTPS_ONLY on "
      "the DataNodes, too"));
}

// The first request has no body, so that the contents are sent once, to the DataNode. libcurl's own
// following of redirections would send cookies along and skip the check of the scheme.
absl::Status WebHdfs::Transfer(const Question& question, const Source& source, const Sink& sink) {
  TONY_ASSIGN_OR_RETURN(const std::string url, DataNodeUrl(question));
  const auto response = http_.Send({.method = question.method,
                                    .url = url,
                                    .without_cookies = true,
                                    .source = source,
                                    .sink = sink,
                                    .stop = options_.stop});
  const absl::Status status = !response.ok()           ? response.status()
                              : IsGood(response->code) ? absl::OkStatus()
                                                       : WebHdfsError(*response);
  return Annotate(status, absl::StrCat("HDFS ", question.operation, " ", question.path));
}

absl::StatusOr<std::string> WebHdfs::HomeFolder() {
  TONY_ASSIGN_OR_RETURN(const http::HttpResponse response,
                        Ask({"GET", "GETHOMEDIRECTORY", "/", ""}));
  return ParsePathAnswer(response.body);
}

absl::StatusOr<HdfsFileStatus> WebHdfs::Status(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const http::HttpResponse response, Ask({"GET", "GETFILESTATUS", path, ""}));
  return ParseFileStatus(response.body);
}

absl::StatusOr<std::vector<HdfsFileStatus>> WebHdfs::List(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const http::HttpResponse response, Ask({"GET", "LISTSTATUS", path, ""}));
  return ParseFileStatuses(response.body);
}

absl::Status WebHdfs::MakeFolders(const std::string& path, int mode) {
  TONY_ASSIGN_OR_RETURN(const http::HttpResponse response,
                        Ask({"PUT", "MKDIRS", path, Permission(mode)}));
  TONY_ASSIGN_OR_RETURN(const bool made, ParseBooleanAnswer(response.body));
  if (made) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("HDFS cannot make the folder ", path));
}

absl::Status WebHdfs::Create(const std::string& path, int mode, bool overwrite,
                             const Source& source) {
  return Transfer({"PUT", "CREATE", path,
                   absl::StrCat("&overwrite=", overwrite ? "true" : "false", Permission(mode))},
                  source, nullptr);
}

absl::Status WebHdfs::Write(const std::string& path, int mode, bool overwrite,
                            const std::string& contents) {
  size_t at = 0;
  return Create(path, mode, overwrite, [&](char* data, size_t size) -> absl::StatusOr<size_t> {
    const size_t part = std::min(size, contents.size() - at);
    contents.copy(data, part, at);
    at += part;
    return part;
  });
}

absl::Status WebHdfs::Read(const std::string& path, const Sink& sink) {
  return Transfer({"GET", "OPEN", path, ""}, nullptr, sink);
}

absl::StatusOr<std::string> WebHdfs::ReadRange(const std::string& path, int64_t offset,
                                               size_t size) {
  // UpTo() bounds the memory even if the server ignores `length`.
  const std::string range = absl::StrCat("&offset=", offset, "&length=", size);
  std::string contents;
  TONY_RETURN_IF_ERROR(Transfer({"GET", "OPEN", path, range}, nullptr, UpTo(size, contents)));
  return contents;
}

absl::StatusOr<std::string> WebHdfs::Read(const std::string& path, size_t most_bytes) {
  std::string contents;
  TONY_RETURN_IF_ERROR(Read(path, UpTo(most_bytes, contents)));
  return contents;
}

absl::Status WebHdfs::AddAttribute(const std::string& path, const std::string& name,
                                   const std::string& value) {
  // "0s" tells the NameNode that the value is in Base64.
  const std::string text = absl::StrCat("0s", absl::Base64Escape(value));
  return Ask({"PUT", "SETXATTR", path,
              absl::StrCat("&xattr.name=", Encoded(name), "&xattr.value=", Encoded(text),
                           "&flag=CREATE")})
      .status();
}

absl::StatusOr<std::map<std::string, std::string>> WebHdfs::Attributes(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const http::HttpResponse response,
                        Ask({"GET", "GETXATTRS", path, "&encoding=base64"}));
  return ParseAttributes(response.body);
}

absl::StatusOr<bool> WebHdfs::Delete(const std::string& path, bool recursive) {
  TONY_ASSIGN_OR_RETURN(
      const http::HttpResponse response,
      Ask({"DELETE", "DELETE", path, absl::StrCat("&recursive=", recursive ? "true" : "false")}));
  return ParseBooleanAnswer(response.body);
}

// Any value of renameoptions selects HDFS' newer rename, which replaces files atomically and
// reports errors as exceptions. Without it, the old one answers only true or false.
absl::Status WebHdfs::Rename(const std::string& from, const std::string& to) {
  return RenameAs(from, to, "OVERWRITE");
}

absl::Status WebHdfs::RenameToNew(const std::string& from, const std::string& to) {
  return RenameAs(from, to, "NONE");
}

absl::Status WebHdfs::RenameAs(const std::string& from, const std::string& to,
                               const std::string& option) {
  return Ask({"PUT", "RENAME", from,
              absl::StrCat("&renameoptions=", option, "&destination=", Encoded(to))})
      .status();
}

absl::StatusOr<Token> WebHdfs::GetDelegationToken(const std::string& renewer) {
  TONY_ASSIGN_OR_RETURN(
      const http::HttpResponse response,
      Ask({"GET", "GETDELEGATIONTOKEN", "/", absl::StrCat("&renewer=", Encoded(renewer))}));
  TONY_ASSIGN_OR_RETURN(const std::string text, ParseTokenAnswer(response.body));
  if (text.empty()) {
    return absl::FailedPreconditionError("this HDFS has no security and gives no tokens");
  }
  TONY_ASSIGN_OR_RETURN(Token token, ParseTokenText(text));
  // The NameNode accepts the secret under both kinds, but the ResourceManager can renew only a
  // token of the kind HDFS_DELEGATION_TOKEN.
  token.kind = kHdfsDelegationToken;
  TONY_ASSIGN_OR_RETURN(token.service, options_.name_service.TokenService());
  return token;
}

absl::StatusOr<int64_t> WebHdfs::RenewDelegationToken(const Token& token) {
  TONY_ASSIGN_OR_RETURN(
      const http::HttpResponse response,
      Ask({"PUT", "RENEWDELEGATIONTOKEN", "/", absl::StrCat("&token=", FormatTokenText(token))}));
  return ParseLongAnswer(response.body);
}

absl::Status WebHdfs::CancelDelegationToken(const Token& token) {
  return Ask({"PUT", "CANCELDELEGATIONTOKEN", "/", absl::StrCat("&token=", FormatTokenText(token))})
      .status();
}

}  // namespace tony::hadoop
