// Access through the proxy of YARN's ResourceManager.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/peer_filter.h"
#include "web/access.h"
#include "web/access_list.h"

namespace tony::web {

/// The proxy fetches the page for its users over plain HTTP: it drops what their browsers send for
/// identification, identifies them itself, and names them in a cookie, `proxy-user`. So only the
/// proxy's hosts are answered, and what the cookie says is believed. A cluster without security
/// names everybody the static user of its web pages, "dr.who"; where it has no such user the cookie
/// is missing. With access lists switched off everybody may look, as at all pages of such a
/// cluster; with them on somebody without a name may not. Lists name groups, too, but only the
/// ResourceManager knows who is in them as the cluster sees it: they let nobody in here.
/// Not thread safe: owned by the event loop.
class ProxyAccess : public Access {
 public:
  struct Options {
    std::vector<std::string> proxy_addresses;  ///< numbers
    std::vector<std::string> hosts;            ///< of this server in its tracking URL, "host:port"
    std::vector<std::string> origins;          ///< of the proxy's pages, "http://rm:8088"
    std::string page_url;                      ///< through the proxy, for who comes without it
    bool lists_apply = false;                  ///< yarn.acl.enable
    std::string owner;                         ///< may always look
    AccessList administrators;                 ///< yarn.admin.acl
    AccessList viewers;                        ///< tony's own list for the job
  };

  explicit ProxyAccess(Options options) : options_(std::move(options)) {}

  std::string base_path() const override { return "/"; }
  std::optional<HttpResponse> Check(const HttpRequest& request) override;

 private:
  bool MayLook(const std::string& user) const;

  const Options options_;
};

/// Admits the proxy's hosts only, `addresses`, as numbers: requests of others would be refused, and
/// who sends many would keep the proxy's from being read. Which user of such a host it is nobody
/// can see here.
PeerCheck ProxyPeerCheck(std::vector<std::string> addresses);

}  // namespace tony::web
