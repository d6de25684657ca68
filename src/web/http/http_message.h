// A parsed HTTP request, and the response to it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::web {

/// GET or HEAD without a body, or POST with one. Plain data.
struct HttpRequest {
  bool head = false;                           ///< the response's header alone is wanted
  bool post = false;                           ///< it has a body and wants to change something
  std::string path;                            ///< decoded; begins with '/'
  std::map<std::string, std::string> query;    ///< decoded; the first value of each name
  std::string host;                            ///< "127.0.0.1:8080"
  std::string origin;                          ///< "http://127.0.0.1:8080"; empty: none was given
  std::map<std::string, std::string> cookies;  ///< not decoded; the first value of each name
  std::string peer_address;                    ///< a numeric address
  std::string authorization;                   ///< as given: a secret, for no log
  std::string content_type;                    ///< of the body, as given
  std::string fetch_site;                      ///< Sec-Fetch-Site: "same-origin"; empty: none
  std::string accept;                          ///< the media types, as given
  std::string if_none_match;                   ///< as given
  bool accepts_gzip = false;
  bool keep_alive = false;  ///< the client may send another request on the connection
  std::string body;
  /// All values of the header in which a proxy names the user; only a server that was told its name
  /// reads it, and only a trusted proxy's may be believed.
  std::vector<std::string> user_names;
  /// Becomes true when nobody waits for the answer any more; set by the server. Thread safe.
  std::shared_ptr<const std::atomic<bool>> abandoned;
};

/// A body that is sent piece by piece, while it comes into being. Destroyed when nobody wants more.
/// Not thread safe: owned by the event loop.
class BodySource {
 public:
  /// The next bytes; null: the end. An error breaks the connection, so that nobody takes the part
  /// for the whole.
  using Take = std::function<void(absl::StatusOr<std::shared_ptr<const std::string>>)>;

  virtual ~BodySource() = default;
  /// Calls `take` once, on the loop: now or later, but not after the destruction of this object.
  /// Must not be called again before that, nor after the end.
  virtual void Next(Take take) = 0;
};

/// Plain data.
struct HttpResponse {
  int status = 200;
  std::string content_type = "text/html; charset=utf-8";
  std::string body;
  std::vector<std::pair<std::string, std::string>>
      headers;  ///< besides those that all responses have
  /// What is wrong, as ErrorResponse() got it; AsProblem() needs it. Empty for other responses.
  std::string sentence;
  /// Gives the body instead of `body`; null: `body` is all of it.
  std::shared_ptr<BodySource> source;
  int64_t source_bytes = -1;        ///< size of the source's body; -1: the connection's end ends it
  std::vector<std::string> frames;  ///< origins, besides its own, that the page may show in it
  /// It has a form that is sent to this server. Such a page lets browsers name its address to this
  /// server alone: under "no-referrer" they would send the form with the origin "null".
  bool has_form = false;
  std::vector<std::string> framed_by;  ///< origins whose pages may show it in themselves
};

/// "Not Found"
std::string StatusText(int status);

/// Returns a small page that says what is wrong, in one sentence of text.
HttpResponse ErrorResponse(int status, const std::string& sentence);

/// Returns a problem by RFC 9457, for programs. `command`: what to type instead; may be empty.
HttpResponse ProblemResponse(int status, const std::string& sentence,
                             const std::string& command = "");

/// An ErrorResponse() in the form for programs, if `accept` does not name HTML; any other response
/// as it is.
HttpResponse ForReader(HttpResponse response, const std::string& accept);

/// Returns the bytes of an HTTP/1.1 response, without those of its source. `keep_alive`: the
/// connection stays open. The headers keep browsers from running foreign scripts in it, guessing
/// its type, framing it, telling others where it came from, and storing it unless it says so.
std::string RenderResponse(const HttpResponse& response, bool head, bool keep_alive = false);

}  // namespace tony::web
