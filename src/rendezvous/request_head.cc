// Uses the parser of Boost.Beast for the head only; the connection reads the body itself, in steps
// that it can limit.
#include "rendezvous/request_head.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tony::rendezvous {
namespace http = boost::beast::http;
namespace {

using Parser = http::request_parser<http::empty_body>;

Refusal NotHttp(const boost::system::error_code& error) {
  if (error == http::error::bad_version) {
    return {505, "Only HTTP/1.0 and HTTP/1.1 are understood here."};
  }
  return {400, absl::StrCat("This is no request of HTTP: ", error.message(), ".")};
}

std::optional<RequestHead::Method> MethodOf(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return RequestHead::Method::kGet;
    case http::verb::put:
      return RequestHead::Method::kPut;
    case http::verb::delete_:
      return RequestHead::Method::kDelete;
    default:
      return std::nullopt;
  }
}

std::variant<RequestHead, Refusal> Understand(const Parser& parser) {
  RequestHead head;
  const auto method = MethodOf(parser.get().method());
  if (!method) return Refusal{405, "Only GET, PUT and DELETE are understood here."};
  head.method = *method;
  if (parser.get().count(http::field::origin) > 0) {
    return Refusal{403, "Pages of browsers have no business here."};
  }
  const std::vector<std::string> parts = absl::StrSplit(std::string(parser.get().target()), '/');
  if (parts.size() != 3 || !parts[0].empty() || parts[1].empty() || parts[2].empty()) {
    return Refusal{400, "The path of a request is /SCOPE/KEY."};
  }
  head.scope = parts[1];
  head.key = parts[2];
  const bool has_length = parser.content_length().has_value();
  if (parser.chunked() || (head.method == RequestHead::Method::kPut && !has_length)) {
    return Refusal{411, "A body comes with its Content-Length."};
  }
  head.body_bytes = has_length ? *parser.content_length() : 0;
  if (head.method != RequestHead::Method::kPut && head.body_bytes > 0) {
    return Refusal{400, "Only PUT has a body."};
  }
  return head;
}

}  // namespace

std::optional<std::variant<RequestHead, Refusal>> ReadHead(const char* bytes, size_t size) {
  Parser parser;
  parser.body_limit(std::numeric_limits<uint64_t>::max());  // the caller enforces the limit
  boost::system::error_code error;
  const size_t used = parser.put(boost::asio::buffer(bytes, size), error);
  if (error && error != http::error::need_more) return NotHttp(error);
  if (!parser.is_header_done()) return std::nullopt;
  auto understood = Understand(parser);
  if (auto* head = std::get_if<RequestHead>(&understood)) head->head_bytes = used;
  return understood;
}

}  // namespace tony::rendezvous
