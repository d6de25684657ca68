// A parsed HTTP request, and the response to it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tony::web {

/// GET or HEAD, without a body. Plain data.
struct HttpRequest {
  bool head = false;                           ///< the response's header alone is wanted
  std::string path;                            ///< decoded; begins with '/'
  std::map<std::string, std::string> query;    ///< decoded; the first value of each name
  std::string host;                            ///< "127.0.0.1:8080"
  std::string origin;                          ///< "http://127.0.0.1:8080"; empty: none was given
  std::map<std::string, std::string> cookies;  ///< not decoded; the first value of each name
  std::string peer_address;                    ///< a numeric address
};

/// Plain data.
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>>
      headers;  ///< besides those that all responses have
};

/// "Not Found"
std::string StatusText(int status);

/// Returns a small page that says what is wrong, in one sentence of text.
HttpResponse ErrorResponse(int status, const std::string& sentence);

/// Returns the bytes of an HTTP/1.1 response, after which the connection is closed. Its headers
/// keep browsers from running scripts in it, guessing its type, storing it, framing it, or telling
/// others where it came from.
std::string RenderResponse(const HttpResponse& response, bool head);

}  // namespace tony::web
