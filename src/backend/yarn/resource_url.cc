// Reads URLs as Hadoop's Path does: nothing is unescaped.
#include "backend/yarn/resource_url.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::backend {
namespace {

constexpr int kNameNodePort = 8020;
constexpr int kNameNodeWebPort = 9870;

bool Has(const std::vector<hadoop::Endpoint>& endpoints, const std::string& text,
         int default_port) {
  const absl::StatusOr<hadoop::Endpoint> endpoint = hadoop::ParseEndpoint(text, default_port);
  return endpoint.ok() &&
         std::find(endpoints.begin(), endpoints.end(), *endpoint) != endpoints.end();
}

int DefaultPort(const std::string& scheme) { return scheme == "https" ? 443 : 80; }

}  // namespace

bool ResourceUrl::IsOf(const hadoop::NameService& hdfs) const {
  if (scheme != "hdfs" && scheme != "webhdfs") return false;
  if (authority.empty()) return scheme == "hdfs";
  if (hdfs.highly_available && authority == hdfs.authority) return true;
  return scheme == "hdfs" ? Has(hdfs.rpc, authority, kNameNodePort)
                          : Has(hdfs.web, authority, kNameNodeWebPort);
}

absl::StatusOr<LocalResource> ResourceUrl::AsItIs() const {
  TONY_ASSIGN_OR_RETURN(const hadoop::Endpoint endpoint,
                        hadoop::ParseEndpoint(authority, DefaultPort(scheme)));
  LocalResource resource;
  resource.scheme = scheme;
  resource.host = endpoint.host;
  resource.port = endpoint.port;
  resource.path = path;
  resource.bytes = -1;
  return resource;
}

absl::StatusOr<ResourceUrl> ParseResourceUrl(const std::string& url) {
  const auto complaint = [&](const std::string& why) {
    return absl::InvalidArgumentError(absl::StrCat("a node cannot fetch ", url, ": ", why));
  };
  const size_t colons = url.find("://");
  if (colons == std::string::npos) return complaint("it is no URL");
  if (absl::StartsWith(url, "http") && absl::StrContains(url, "%")) {
    return complaint("YARN escapes its path itself; write it as it is, without %");
  }
  if (absl::StrContains(url, "?")) return complaint("YARN does not hand on what is behind a ?");
  const size_t authority = colons + 3;
  const size_t path = std::min(url.find('/', authority), url.size());
  ResourceUrl result;
  result.scheme = absl::AsciiStrToLower(url.substr(0, colons));
  result.authority = url.substr(authority, path - authority);
  result.path = url.substr(path);
  if (result.path.size() < 2) return complaint("it names no file");
  return result;
}

}  // namespace tony::backend
