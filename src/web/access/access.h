// The check of who may see the pages of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "web/http/http_message.h"

namespace tony::web {

/// Not thread safe: owned by the event loop.
class Access {
 public:
  virtual ~Access() = default;

  /// The path under which the pages lie: "/" or "/…/".
  virtual std::string base_path() const = 0;
  /// Returns the answer to send instead of a page; nothing if the sender may see the page.
  virtual std::optional<HttpResponse> Check(const HttpRequest& request) = 0;
  /// Whether requests come from the visitor's browser itself, not from a proxy.
  virtual bool direct() const = 0;
  /// Returns the answer to a request that wants to change something and has passed Check(); nothing
  /// if the sender may do that.
  virtual std::optional<HttpResponse> CheckChange(const HttpRequest& request) = 0;
  /// Whether the sender of a request that has passed Check() may change anything at all.
  virtual bool may_change() const { return true; }
  /// The sender of such a request, for the job's history; empty: whoever is at the job's own page.
  virtual std::string visitor() const { return ""; }
};

/// Returns 403 unless the request names one of `hosts` ("127.0.0.1:8080") as its host. If it names
/// the page that sent it, that page must be one of `origins` ("http://127.0.0.1:8080"). This stops
/// DNS rebinding (a foreign name that leads here) and requests from other pages in the browser.
std::optional<HttpResponse> CheckHostAndOrigin(const HttpRequest& request,
                                               const std::vector<std::string>& hosts,
                                               const std::vector<std::string>& origins);

/// Whether a page of this server has sent a request that has passed CheckHostAndOrigin(): what
/// changes something is taken from nobody else.
bool IsFromOwnPage(const HttpRequest& request);

/// The origin of a server at `port` of 127.0.0.1: "http://127.0.0.1:8080". "localhost" may be [::1]
/// as well, where another user may listen at the same port: his page would have the same origin.
std::string LoopbackOrigin(int port);

/// CheckHostAndOrigin() for such a server, which has no other name than that one.
std::optional<HttpResponse> CheckLoopbackHostAndOrigin(const HttpRequest& request, int port);

}  // namespace tony::web
