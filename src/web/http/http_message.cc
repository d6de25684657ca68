// The security headers are the same for every response, so no page can forget them.
#include "web/http/http_message.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "web/http/html.h"

namespace tony::web {
namespace {

constexpr char kHeadersOfAll[] =
    "X-Content-Type-Options: nosniff\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

/// The headers that restrict what the response may do, and who may show it.
std::string SecurityHeaders(const HttpResponse& response) {
  const bool framed = !response.framed_by.empty();
  // X-Frame-Options knows no origins, so it is left out where some are allowed.
  return absl::StrCat(
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
      "img-src data:; connect-src 'self'; base-uri 'none'; form-action ",
      response.has_form ? "'self'" : "'none'", "; frame-ancestors ",
      framed ? absl::StrJoin(response.framed_by, " ") : "'none'",
      response.frames.empty()
          ? ""
          : absl::StrCat("; frame-src 'self' ", absl::StrJoin(response.frames, " ")),
      "; require-trusted-types-for 'script'; trusted-types 'none'\r\n",
      framed ? "" : "X-Frame-Options: DENY\r\n", kHeadersOfAll,
      "Referrer-Policy: ", response.has_form ? "same-origin" : "no-referrer", "\r\n");
}

/// Whether the response says itself how long it may be kept.
bool HasCacheControl(const HttpResponse& response) {
  return std::any_of(response.headers.begin(), response.headers.end(),
                     [](const auto& header) { return header.first == "Cache-Control"; });
}

}  // namespace

// A switch over the status codes that are sent, with the reason phrase of each from RFC 9110 (431:
// RFC 6585, 507: RFC 4918).
std::string StatusText(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 502:
      return "Bad Gateway";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

// The sentence may quote the request, so it is escaped.
HttpResponse ErrorResponse(int status, const std::string& sentence) {
  HttpResponse response;
  response.status = status;
  response.sentence = sentence;
  response.body =
      absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                   StatusText(status), "</title></head>\n<body><h1>", StatusText(status),
                   "</h1><p>", Escape(sentence), "</p></body></html>\n");
  return response;
}

// The sentence may quote bytes that are not UTF-8.
HttpResponse ProblemResponse(int status, const std::string& sentence, const std::string& command) {
  nlohmann::ordered_json problem = {{"type", "about:blank"},
                                    {"title", StatusText(status)},
                                    {"status", status},
                                    {"detail", sentence}};
  if (!command.empty()) problem["command"] = command;
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  response.body =
      problem.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  if (status == 429 || status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

HttpResponse ForReader(HttpResponse response, const std::string& accept) {
  if (response.sentence.empty() || absl::StrContains(accept, "text/html")) return response;
  HttpResponse problem = ProblemResponse(response.status, response.sentence);
  problem.headers.insert(problem.headers.end(), response.headers.begin(), response.headers.end());
  return problem;
}

// A 304 has neither a body nor a length: it speaks of another response.
std::string RenderResponse(const HttpResponse& response, bool head, bool keep_alive) {
  std::string text =
      absl::StrCat("HTTP/1.1 ", response.status, " ", StatusText(response.status), "\r\n");
  if (response.status != 304) {
    absl::StrAppend(&text, "Content-Type: ", response.content_type, "\r\n");
    const int64_t size = response.source != nullptr ? response.source_bytes
                                                    : static_cast<int64_t>(response.body.size());
    if (size >= 0) absl::StrAppend(&text, "Content-Length: ", size, "\r\n");
  }
  absl::StrAppend(&text, SecurityHeaders(response),
                  HasCacheControl(response) ? "" : "Cache-Control: no-store\r\n",
                  "Connection: ", keep_alive ? "keep-alive" : "close", "\r\n");
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  absl::StrAppend(&text, "\r\n");
  if (!head && response.source == nullptr) text += response.body;
  return text;
}

}  // namespace tony::web
