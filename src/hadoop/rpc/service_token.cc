// Hadoop's SecurityUtil makes the names of services: an address and a port, or with
// hadoop.security.token.service.use_ip=false a host; with high availability those of all servers of
// YARN, or the name of the HDFS.
#include "hadoop/rpc/service_token.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hadoop/rpc/cluster_addresses.h"

namespace tony::hadoop {
namespace {

std::set<std::string> NamesOf(const std::vector<Endpoint>& servers, const std::string& name) {
  std::set<std::string> names;
  if (!name.empty()) names.insert(name);
  for (const Endpoint& server : servers) {
    names.insert(absl::StrCat(server.host, ":", server.port));
    const auto addresses = NumericAddresses(server.host);
    if (!addresses.ok()) continue;
    for (const std::string& address : *addresses) {
      names.insert(absl::StrCat(address, ":", server.port));
    }
  }
  return names;
}

}  // namespace

const Token* FindServiceToken(const TokenStore& tokens, const std::string& kind,
                              const std::vector<Endpoint>& servers, const std::string& name) {
  std::vector<const Token*> candidates;
  for (const auto& [alias, token] : tokens.tokens) {
    if (token.kind == kind) candidates.push_back(&token);
  }
  if (candidates.size() < 2) return candidates.empty() ? nullptr : candidates.front();
  const std::set<std::string> names = NamesOf(servers, name);
  for (const Token* const token : candidates) {
    for (const auto& part : absl::StrSplit(token->service, ',')) {
      if (names.contains(std::string(part))) return token;
    }
  }
  return nullptr;
}

}  // namespace tony::hadoop
