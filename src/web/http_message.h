// One HTTP request as it was understood, and the answer to it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tony::web {

/// GET or HEAD, without a body. Plain data.
struct HttpRequest {
  bool head = false;                           ///< only the answer's header is wanted
  std::string path;                            ///< decoded; begins with '/'
  std::map<std::string, std::string> query;    ///< decoded; of several with one name the first
  std::string host;                            ///< "127.0.0.1:8080"
  std::string origin;                          ///< "http://127.0.0.1:8080"; empty: none was given
  std::map<std::string, std::string> cookies;  ///< as they came; of several with one name the first
  std::string peer_address;                    ///< a number
};

/// Plain data.
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;  ///< besides those that all have
};

/// "Not Found"
std::string StatusText(int status);

/// A small page that says what is wrong, in one sentence of text.
HttpResponse ErrorResponse(int status, const std::string& sentence);

/// The bytes of a response of HTTP/1.1, after which the connection is closed. Whatever it is, no
/// browser runs a script in it, guesses its type, keeps it, puts it into a frame, or tells others
/// where it came from.
std::string RenderResponse(const HttpResponse& response, bool head);

}  // namespace tony::web
