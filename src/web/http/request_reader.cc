// Uses the parser of Boost.Beast without its streams: the bytes come from the event loop's own
// sockets.
#include "web/http/request_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <boost/beast/http/string_body.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "web/http/cookies.h"

namespace tony::web {
namespace http = boost::beast::http;

struct RequestReader::Parser {
  http::request_parser<http::string_body> request;
};

namespace {

using Result = std::variant<HttpRequest, HttpResponse>;

int HexValue(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = absl::ascii_tolower(static_cast<unsigned char>(digit));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// Returns nothing if a percent sign lacks its two digits, or if the text has control characters,
/// encoded or not.
std::optional<std::string> Decode(const std::string& text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char character = text[i];
    if (character == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexValue(text[i + 1]), low = HexValue(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      character = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (absl::ascii_iscntrl(static_cast<unsigned char>(character))) return std::nullopt;
    decoded += character;
  }
  return decoded;
}

/// Decodes a part of a query, where a plus sign is a space: browsers' URLSearchParams and most
/// libraries write it so.
std::optional<std::string> DecodeForm(const std::string& text) {
  return Decode(absl::StrReplaceAll(text, {{"+", " "}}));
}

/// False if the target cannot be decoded.
bool ReadTarget(const std::string& target, HttpRequest& request) {
  if (target.empty() || target.front() != '/') return false;
  const std::vector<std::string> halves = absl::StrSplit(target, absl::MaxSplits('?', 1));
  const std::optional<std::string> path = Decode(halves[0]);
  if (!path) return false;
  request.path = *path;
  if (halves.size() < 2) return true;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(halves[1], '&', absl::SkipEmpty()))) {
    const std::vector<std::string> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::optional<std::string> name = DecodeForm(sides[0]);
    const std::optional<std::string> value = DecodeForm(sides.size() > 1 ? sides[1] : "");
    if (!name || !value) return false;
    request.query.emplace(*name, *value);
  }
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
                                       HttpRequest& request) {
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
  return std::nullopt;
}

}  // namespace

std::string OnlyLooking(const std::string& /*path*/) { return "GET, HEAD"; }

RequestReader::RequestReader(std::string peer_address, AllowedMethods allowed)
    : peer_address_(std::move(peer_address)),
      allowed_(std::move(allowed)),
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
      if (auto refused = Understand(parser, allowed_, request_)) {
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
