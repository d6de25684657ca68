// Uses the parser of Boost.Beast without its streams: the bytes come from the event loop's own
// sockets.
#include "web/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "web/http/cookies.h"
#include "web/http/form.h"

namespace tony::web {
namespace http = boost::beast::http;

struct RequestReader::Parser {
  http::request_parser<http::string_body> request;
};

namespace {

using Result = std::variant<HttpRequest, HttpResponse>;

/// False if the target cannot be decoded.
bool ReadTarget(const std::string& target, HttpRequest& request) {
  if (target.empty() || target.front() != '/') return false;
  const std::vector<std::string> halves = absl::StrSplit(target, absl::MaxSplits('?', 1));
  const std::optional<std::string> path = DecodePercents(halves[0]);
  if (!path) return false;
  request.path = *path;
  if (halves.size() < 2) return true;
  const auto query = ReadForm(halves[1]);
  if (!query) return false;
  request.query = *query;
  return true;
}

// The parser limits header and body by itself; its error becomes the response that names the limit.
HttpResponse Refusal(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return ErrorResponse(431, absl::StrCat("The request's header has more than ",
                                           RequestReader::kMostHeaderBytes, " bytes."));
  }
  if (error == http::error::body_limit) {
    return ErrorResponse(413, absl::StrCat("The request's body has more than ",
                                           RequestReader::kMostBodyBytes, " bytes."));
  }
  if (error == http::error::bad_version) {
    return ErrorResponse(505, "Only HTTP/1.0 and HTTP/1.1 are understood here.");
  }
  return ErrorResponse(400, absl::StrCat("This is no request of HTTP: ", error.message(), "."));
}

using Parsing = http::request_parser<http::string_body>;

/// The response to a method that the path does not take, or to a body that does not fit the method.
std::optional<HttpResponse> CheckMethod(const Parsing& parser, const std::string& allowed,
                                        HttpRequest& request) {
  const std::string method(parser.get().method_string());
  const std::vector<std::string> methods = absl::StrSplit(allowed, ", ");
  if (std::find(methods.begin(), methods.end(), method) == methods.end()) {
    HttpResponse refused =
        ErrorResponse(405, absl::StrCat("This address takes ", allowed, " only."));
    refused.headers.emplace_back("Allow", allowed);
    return refused;
  }
  request.head = method == "HEAD";
  request.post = method == "POST";
  if (request.post) {
    if (!parser.content_length()) {
      return ErrorResponse(411, "A request with a body says how long that is.");
    }
  } else if (parser.chunked() || parser.content_length().value_or(0) > 0) {
    return ErrorResponse(413, "A request to look at a page has no body.");
  }
  return std::nullopt;
}

void ReadHeader(const Parsing::value_type& header, HttpRequest& request) {
  request.host = std::string(header[http::field::host]);
  request.origin = std::string(header[http::field::origin]);
  request.authorization = std::string(header[http::field::authorization]);
  request.content_type = std::string(header[http::field::content_type]);
  request.fetch_site = std::string(header["Sec-Fetch-Site"]);
  request.if_none_match = std::string(header[http::field::if_none_match]);
  request.accepts_gzip = http::ext_list(header[http::field::accept_encoding]).exists("gzip");
  request.keep_alive = header.keep_alive();
  const auto cookies = header.equal_range(http::field::cookie);
  for (auto cookie = cookies.first; cookie != cookies.second; ++cookie) {
    for (auto& [name, value] : SplitCookies(std::string(cookie->value()))) {
      request.cookies.emplace(name, value);
    }
  }
}

/// Reads the header into `request`; returns the response if it is refused.
std::optional<HttpResponse> Understand(const Parsing& parser, const AllowedMethods& allowed,
                                       const std::string& user_header, HttpRequest& request) {
  const auto& header = parser.get();
  request.accept = std::string(header[http::field::accept]);
  if (header.target().size() > RequestReader::kMostTargetBytes) {
    return ErrorResponse(414, absl::StrCat("The address has more than ",
                                           RequestReader::kMostTargetBytes, " bytes."));
  }
  const bool readable = ReadTarget(std::string(header.target()), request);
  // A method that nothing takes is refused as such, whatever its target is.
  if (auto refused = CheckMethod(parser, allowed(readable ? request.path : "/"), request)) {
    return refused;
  }
  if (!readable) return ErrorResponse(400, "The address is malformed.");
  if (header.count(http::field::host) != 1) {
    return ErrorResponse(400, "A request names exactly one host.");
  }
  ReadHeader(header, request);
  if (user_header.empty()) return std::nullopt;
  const auto named = header.equal_range(user_header);
  for (auto field = named.first; field != named.second; ++field) {
    request.user_names.emplace_back(field->value());
  }
  return std::nullopt;
}

}  // namespace

std::string OnlyLooking(const std::string& /*path*/) { return "GET, HEAD"; }

RequestReader::RequestReader(std::string peer_address, AllowedMethods allowed,
                             std::string user_header)
    : peer_address_(std::move(peer_address)),
      allowed_(std::move(allowed)),
      user_header_(std::move(user_header)),
      parser_(std::make_unique<Parser>()) {
  parser_->request.header_limit(kMostHeaderBytes);
  parser_->request.body_limit(kMostBodyBytes);
}

RequestReader::~RequestReader() = default;

// The parser may leave bytes unused until more of them come. They are kept in `pending_`, whose
// size is limited as well. The header is checked before a byte of the body is kept.
std::optional<Result> RequestReader::Take(const std::string& bytes) {
  pending_ += bytes;
  begun_ = begun_ || !pending_.empty();
  auto& parser = parser_->request;
  while (!pending_.empty()) {
    boost::system::error_code error;
    const size_t used = parser.put(boost::asio::buffer(pending_), error);
    pending_.erase(0, used);
    if (parser.is_header_done() && !header_checked_) {
      header_checked_ = true;
      request_.peer_address = peer_address_;
      if (auto refused = Understand(parser, allowed_, user_header_, request_)) {
        return ForReader(*std::move(refused), request_.accept);
      }
    }
    if (parser.is_done() || (header_checked_ && !request_.post)) {
      request_.body = std::move(parser.get().body());
      return std::move(request_);
    }
    if (error && error != http::error::need_more) return ForReader(Refusal(error), request_.accept);
    if (error == http::error::need_more || used == 0) break;
  }
  if (pending_.size() > kMostHeaderBytes) {
    return ForReader(Refusal(http::error::header_limit), request_.accept);
  }
  return std::nullopt;
}

}  // namespace tony::web
