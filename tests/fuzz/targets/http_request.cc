// A request to the job's page or its API, of anybody who reaches its port: a browser, or whoever is
// not one.
//
// Besides not crashing: a request is understood, or refused, in the same way however its bytes are
// divided; what is understood has no control characters, with which headers or log lines could be
// forged; and a refusal is one of those that are documented.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"
#include "web/http/request_reader.h"

namespace tony::fuzz {
namespace {

using Result = std::optional<std::variant<web::HttpRequest, web::HttpResponse>>;

Result ReadIn(const std::vector<std::string>& pieces) {
  web::RequestReader reader("127.0.0.1", [](const std::string& path) -> std::string {
    return path == "/stop" ? "POST" : "GET, HEAD";
  });
  for (const std::string& piece : pieces) {
    if (Result result = reader.Take(piece)) return result;
  }
  return std::nullopt;
}

bool Same(const web::HttpRequest& a, const web::HttpRequest& b) {
  return a.head == b.head && a.post == b.post && a.body == b.body && a.accept == b.accept &&
         a.content_type == b.content_type && a.fetch_site == b.fetch_site &&
         a.if_none_match == b.if_none_match && a.accepts_gzip == b.accepts_gzip &&
         a.keep_alive == b.keep_alive && a.path == b.path && a.query == b.query &&
         a.host == b.host && a.origin == b.origin && a.cookies == b.cookies &&
         a.peer_address == b.peer_address;
}

bool IsPlain(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char byte) { return absl::ascii_iscntrl(byte) && byte != '\t'; });
}

void CheckUnderstood(const web::HttpRequest& request) {
  Require(request.path.starts_with('/'), "a path begins with /");
  Require(IsPlain(request.path), "a path has no control characters");
  Require(IsPlain(request.host) && IsPlain(request.origin), "nor have headers");
  Require(IsPlain(request.content_type) && IsPlain(request.fetch_site) && IsPlain(request.accept) &&
              IsPlain(request.if_none_match),
          "nor have other headers");
  Require(request.post == (request.path == "/stop"), "a path has its method");
  Require(request.post || request.body.empty(), "only a POST has a body");
  Require(request.body.size() <= web::RequestReader::kMostBodyBytes, "a body is bounded");
  for (const auto& [name, value] : request.query) {
    Require(IsPlain(name) && IsPlain(value), "nor has a query");
  }
  for (const auto& [name, value] : request.cookies) {
    Require(IsPlain(name) && IsPlain(value), "nor has a cookie");
  }
}

void CheckRefused(const web::HttpResponse& response) {
  constexpr std::array kRefusals = {400, 405, 411, 413, 414, 431, 505};
  Require(std::find(kRefusals.begin(), kRefusals.end(), response.status) != kRefusals.end(),
          "a refusal's status is documented");
}

}  // namespace

void FuzzHttpRequest(std::string_view input) {
  InputReader reader(input);
  const uint8_t division = reader.Byte();
  const std::string bytes = reader.Rest();
  const Result whole = ReadIn({bytes});
  const Result divided = ReadIn(Divided(bytes, division));
  // Boost.Beast sees a fault of half a header at once, or only when the rest has come.
  Require(whole || !divided, "what is whole in pieces is whole");
  if (whole && std::holds_alternative<web::HttpRequest>(*whole)) {
    Require(divided.has_value(), "a request is whole however it is divided");
  }
  if (!whole || !divided) return;
  Require(whole->index() == divided->index(), "it is refused or not, however it is divided");
  if (const auto* request = std::get_if<web::HttpRequest>(&*whole)) {
    CheckUnderstood(*request);
    Require(Same(*request, std::get<web::HttpRequest>(*divided)), "it says the same in pieces");
  } else {
    const auto& response = std::get<web::HttpResponse>(*whole);
    CheckRefused(response);
    Require(response.status == std::get<web::HttpResponse>(*divided).status,
            "it is refused for the same reason in pieces");
  }
}

}  // namespace tony::fuzz
