// Who may see the pages of a job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "web/http_message.h"

namespace tony::web {

/// Not thread safe: owned by the event loop.
class Access {
 public:
  virtual ~Access() = default;

  /// Where the pages lie, "/" or "/…/".
  virtual std::string base_path() const = 0;
  /// What is answered instead of a page; nothing for who may see it.
  virtual std::optional<HttpResponse> Check(const HttpRequest& request) = 0;
};

/// 403 unless the request was sent to one of `hosts` ("127.0.0.1:8080"), and by a page of one of
/// `origins` ("http://127.0.0.1:8080") if by a page that says where it is from: a name of somebody
/// else's that leads here, or another page in the browser, gets nothing.
std::optional<HttpResponse> CheckHostAndOrigin(const HttpRequest& request,
                                               const std::vector<std::string>& hosts,
                                               const std::vector<std::string>& origins);

}  // namespace tony::web
