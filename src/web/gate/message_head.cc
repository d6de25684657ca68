// Boost.Beast parses heads strictly. They are written anew from what it has understood, so that
// both sides of the gate see the same message.
#include "web/gate/message_head.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/rfc7230.hpp>

#include <limits>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "web/http/cookies.h"

namespace tony::web {
namespace http = boost::beast::http;

struct RequestHeadReader::Parser {
  http::request_parser<http::empty_body> request;
};

struct ResponseHeadReader::Parser {
  http::response_parser<http::empty_body> response;
};

namespace {

/// The parser reads no body. (It takes "no limit" for a limit of 0.)
constexpr uint64_t kNoBodyLimit = std::numeric_limits<uint64_t>::max();

/// Names of cookies of tony's pages begin so.
constexpr char kOwnCookies[] = "tony-";

/// Whether the line concerns the connection on which it came, and not what is said.
bool IsOfConnection(const std::string& name, boost::beast::string_view connection) {
  // The last one is named by the line Connection that the gate writes itself.
  for (const char* known : {"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer",
                            "Upgrade", "Expect", "Proxy-Authorization", "Close"}) {
    if (absl::EqualsIgnoreCase(name, known)) return true;
  }
  // Where a message goes and where it ends is never up to the connection.
  for (const char* known : {"Host", "Content-Length", "Transfer-Encoding"}) {
    if (absl::EqualsIgnoreCase(name, known)) return false;
  }
  return http::token_list(connection).exists(name);
}

template <typename Fields>
HeadLines LinesOf(const Fields& fields) {
  HeadLines lines;
  for (const auto& field : fields) {
    std::string name(field.name_string());
    if (IsOfConnection(name, fields[http::field::connection])) continue;
    lines.emplace_back(std::move(name), std::string(field.value()));
  }
  return lines;
}

template <typename Fields>
bool WantsWebSocket(const Fields& fields) {
  return http::token_list(fields[http::field::connection]).exists("upgrade") &&
         absl::EqualsIgnoreCase(std::string(fields[http::field::upgrade]), "websocket");
}

HttpResponse Refusal(const boost::system::error_code& error) {
  if (error == http::error::header_limit) {
    return ErrorResponse(431, absl::StrCat("The request's header has more than ",
                                           RequestHeadReader::kMostBytes, " bytes."));
  }
  return ErrorResponse(400, absl::StrCat("This is no request of HTTP: ", error.message(), "."));
}

RequestHead HeadOf(const http::request_parser<http::empty_body>& parser) {
  const auto& fields = parser.get();
  RequestHead head;
  head.method = std::string(fields.method_string());
  head.target = std::string(fields.target());
  for (auto& line : LinesOf(fields)) {
    if (absl::EqualsIgnoreCase(line.first, "Cookie")) {
      for (auto& cookie : SplitCookies(line.second)) head.cookies.push_back(std::move(cookie));
      // Kept for the program, without those of tony's.
      line.second = CookiesWithout(line.second, kOwnCookies);
      if (line.second.empty()) continue;
    }
    head.lines.push_back(std::move(line));
  }
  head.facts.head = head.method == "HEAD";
  head.facts.host = std::string(fields[http::field::host]);
  head.facts.origin = std::string(fields[http::field::origin]);
  head.facts.accept = std::string(fields[http::field::accept]);
  head.facts.fetch_site = std::string(fields["Sec-Fetch-Site"]);
  head.fetch_mode = std::string(fields["Sec-Fetch-Mode"]);
  head.service_worker = fields.count("Service-Worker") > 0;
  head.websocket = WantsWebSocket(fields);
  head.body_bytes = parser.content_length().value_or(0);
  return head;
}

/// The response to a request that may not pass, whoever sends it.
std::optional<HttpResponse> Check(const http::request_parser<http::empty_body>& parser) {
  const auto& fields = parser.get();
  const std::string method(fields.method_string());
  if (method == "CONNECT" || method == "TRACE") {
    return ErrorResponse(405, absl::StrCat("The method ", method, " is not for a program's page."));
  }
  if (fields.target().empty() || fields.target().front() != '/') {
    return ErrorResponse(400, "The address is malformed.");
  }
  if (fields.count(http::field::host) != 1) {
    return ErrorResponse(400, "A request names exactly one host.");
  }
  // Browsers say how long a body is. Without chunks there is one way only to see its end.
  if (fields.count(http::field::transfer_encoding) > 0) {
    return ErrorResponse(411, "A request with a body says how long that is.");
  }
  if (parser.content_length().value_or(0) > RequestHeadReader::kMostBodyBytes) {
    return ErrorResponse(413, absl::StrCat("The request's body has more than ",
                                           RequestHeadReader::kMostBodyBytes, " bytes."));
  }
  return std::nullopt;
}

/// The path of `url` if it is one of the program's own address; otherwise `url`.
std::string OwnPath(const std::string& url, const std::string& authority) {
  constexpr size_t kScheme = sizeof "http://" - 1;
  if (!absl::StartsWithIgnoreCase(url, "http://") || authority.empty()) return url;
  const size_t end = std::min(url.find_first_of("/?#", kScheme), url.size());
  const std::string named = url.substr(kScheme, end - kScheme);
  const std::string port = authority.substr(authority.rfind(':') + 1);
  const bool own = named == authority || named == absl::StrCat("127.0.0.1:", port) ||
                   named == absl::StrCat("localhost:", port);
  if (!own) return url;
  const std::string path = url.substr(end);
  // "//x" would name another host.
  if (absl::StartsWith(path, "//")) return absl::StrCat("/.", path);
  return absl::StartsWith(path, "/") ? path : absl::StrCat("/", path);
}

/// The elements of all lines of that name, in lower case.
std::set<std::string> ElementsOf(const HeadLines& lines, const char* name, const char* separators) {
  std::set<std::string> elements;
  for (const auto& [line_name, value] : lines) {
    if (!absl::EqualsIgnoreCase(line_name, name)) continue;
    for (const absl::string_view element : absl::StrSplit(value, absl::ByAnyChar(separators))) {
      elements.insert(absl::AsciiStrToLower(absl::StripAsciiWhitespace(element)));
    }
  }
  return elements;
}

/// Whether the program has a policy of its own about frames.
bool HasFramePolicy(const HeadLines& lines) {
  const auto directives = ElementsOf(lines, "Content-Security-Policy", ",;");
  return std::any_of(directives.begin(), directives.end(), [](const std::string& directive) {
    return directive.substr(0, directive.find_first_of(" \t")) == "frame-ancestors";
  });
}

/// Whether the line of a response sets or removes cookies of tony's.
bool TouchesOwnCookies(const std::string& name, absl::string_view value) {
  // It would remove the cookies of the whole host, whose other ports are those of tony's pages.
  if (absl::EqualsIgnoreCase(name, "Clear-Site-Data")) return true;
  if (!absl::EqualsIgnoreCase(name, "Set-Cookie")) return false;
  // Browsers send a cookie without a name, "=tony-page=x", as "tony-page=x".
  while (!value.empty() && (value.front() == '=' || absl::ascii_isspace(value.front()))) {
    value.remove_prefix(1);
  }
  return absl::StartsWith(value, kOwnCookies);
}

void AddLine(const std::string& name, const std::string& value, std::string& text) {
  absl::StrAppend(&text, name, ": ", value, "\r\n");
}

/// Feeds `pending` to the parser until the head is complete, and drops what the parser has used.
/// Returns the parser's error, which is `need_more` while bytes are missing.
template <typename Parser>
boost::system::error_code ParseHead(Parser& parser, std::string& pending) {
  boost::system::error_code error;
  while (!parser.is_header_done()) {
    if (pending.empty()) return http::error::need_more;
    const size_t used = parser.put(boost::asio::buffer(pending), error);
    pending.erase(0, used);
    if (error) return error;
    if (used == 0) return http::error::need_more;
  }
  return error;
}

}  // namespace

RequestHeadReader::RequestHeadReader() : parser_(std::make_unique<Parser>()) {
  parser_->request.eager(false);
  parser_->request.header_limit(kMostBytes);
  parser_->request.body_limit(kNoBodyLimit);
}

RequestHeadReader::~RequestHeadReader() = default;

std::optional<std::variant<RequestHead, HttpResponse>> RequestHeadReader::Take(
    const std::string& bytes) {
  pending_ += bytes;
  auto& parser = parser_->request;
  const boost::system::error_code error = ParseHead(parser, pending_);
  if (error == http::error::need_more) {
    if (pending_.size() > kMostBytes) return Refusal(http::error::header_limit);
    return std::nullopt;
  }
  if (error) return Refusal(error);
  if (auto refused = Check(parser)) return *std::move(refused);
  return HeadOf(parser);
}

ResponseHeadReader::ResponseHeadReader() = default;
ResponseHeadReader::~ResponseHeadReader() = default;

absl::StatusOr<std::optional<ResponseHead>> ResponseHeadReader::Take(const std::string& bytes) {
  pending_ += bytes;
  while (true) {
    if (parser_ == nullptr) {
      parser_ = std::make_unique<Parser>();
      parser_->response.eager(false);
      parser_->response.header_limit(kMostBytes);
      parser_->response.body_limit(kNoBodyLimit);
    }
    const boost::system::error_code error = ParseHead(parser_->response, pending_);
    if (error == http::error::need_more && pending_.size() <= kMostBytes) {
      return std::optional<ResponseHead>();
    }
    if (error) return absl::InvalidArgumentError(error.message());
    const auto& fields = parser_->response.get();
    const int status = static_cast<int>(fields.result_int());
    if (status < 100) return absl::InvalidArgumentError("a status has three digits");
    // An interim response announces another one; the client has not asked for it.
    if (status >= 100 && status < 200 && status != 101) {
      parser_.reset();
      continue;
    }
    ResponseHead head{.status = status, .reason = std::string(fields.reason())};
    head.lines = LinesOf(fields);
    head.websocket = status == 101 && WantsWebSocket(fields);
    return std::optional<ResponseHead>(std::move(head));
  }
}

std::string RenderHead(const RequestHead& head) {
  std::string text = absl::StrCat(head.method, " ", head.target, " HTTP/1.1\r\n");
  for (const auto& [name, value] : head.lines) AddLine(name, value, text);
  if (head.websocket) AddLine("Upgrade", "websocket", text);
  AddLine("Connection", head.websocket ? "Upgrade" : "close", text);
  return text + "\r\n";
}

std::string RenderHead(const ResponseHead& head, const std::string& authority) {
  std::string text = absl::StrCat("HTTP/1.1 ", head.status, " ", head.reason, "\r\n");
  for (const auto& [name, value] : head.lines) {
    if (TouchesOwnCookies(name, value)) continue;
    const bool leads_on = absl::EqualsIgnoreCase(name, "Location");
    AddLine(name, leads_on ? OwnPath(value, authority) : value, text);
  }
  if (head.websocket) AddLine("Upgrade", "websocket", text);
  AddLine("Connection", head.websocket ? "Upgrade" : "close", text);
  return text + "\r\n";
}

// X-Frame-Options counts only where the program has no policy about frames itself (HTML, "the
// X-Frame-Options header"). Contradictory values forbid all frames, as browsers understand them.
std::string FramePolicy(const HeadLines& lines, const std::vector<std::string>& framed_by) {
  std::string allowed = absl::StrCat("'self' ", absl::StrJoin(framed_by, " "));
  if (!HasFramePolicy(lines)) {
    const auto options = ElementsOf(lines, "X-Frame-Options", ",");
    const bool same_origin = options.contains("sameorigin");
    if (options.contains("deny") || (same_origin && options.size() > 1)) {
      allowed = "'none'";
    } else if (same_origin) {
      allowed = "'self'";
    }
  }
  return absl::StrCat("frame-ancestors ", allowed);
}

}  // namespace tony::web
