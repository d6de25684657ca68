// Access through the web proxy of YARN's ResourceManager.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/logging.h"
#include "common/peer_filter.h"
#include "web/access/access.h"
#include "web/access/access_list.h"

namespace tony::web {

/// The proxy fetches the page for its users over plain HTTP. It drops the credentials that their
/// browsers send, authenticates them itself, and names them in the cookie `proxy-user`. So only the
/// proxy's hosts are answered, and the cookie is believed. A cluster without security names
/// everybody the static user of its web pages, "dr.who"; without such a user the cookie is missing.
/// If access lists are switched off, everybody may look, as at all pages of such a cluster; if they
/// are on, a visitor without a name may not. Lists also name groups, but only the ResourceManager
/// knows their members as the cluster sees them, so groups admit nobody here.
/// Not thread safe: owned by the event loop.
class ProxyAccess : public Access {
 public:
  struct Options {
    std::vector<std::string> proxy_addresses;  ///< numeric addresses
    std::vector<std::string> hosts;    ///< names of this server in its tracking URL, "host:port"
    std::vector<std::string> origins;  ///< origins of the proxy's pages, "http://rm:8088"
    std::string page_url;       ///< address through the proxy, for visitors who come without it
    bool lists_apply = false;   ///< yarn.acl.enable
    std::string owner;          ///< may always look
    std::string job_id;         ///< for the command that ends it
    AccessList administrators;  ///< yarn.admin.acl
    AccessList viewers;         ///< tony's own list for the job
  };

  explicit ProxyAccess(Options options) : options_(std::move(options)) {}

  std::string base_path() const override { return "/"; }
  std::optional<HttpResponse> Check(const HttpRequest& request) override;
  bool direct() const override { return false; }
  /// Nobody may change anything: all applications of the cluster have one origin, so that the page
  /// of any of them could use this one with its visitor's name.
  std::optional<HttpResponse> CheckChange(const HttpRequest& request) override;

 private:
  bool MayView(const std::string& user) const;

  const Options options_;
  LogLimit refused_log_;
};

/// Admits only the proxy's hosts, `addresses` (numeric). The requests of other hosts would be
/// refused anyway, and many of them could keep the proxy's from being read. The user at such a host
/// cannot be seen here.
PeerCheck ProxyPeerCheck(std::vector<std::string> addresses);

}  // namespace tony::web
