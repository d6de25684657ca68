// The security headers are the same for every response, so no page can forget them.
#include "web/http_message.h"

#include "absl/strings/str_cat.h"
#include "web/html.h"

namespace tony::web {
namespace {

constexpr char kHeadersOfAll[] =
    "Content-Security-Policy: default-src 'none'; style-src 'self'; img-src data:; base-uri "
    "'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n";

}  // namespace

// A switch over the status codes that are sent, with the reason phrase of each from RFC 9110 (431:
// RFC 6585, 507: RFC 4918).
std::string StatusText(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 303:
      return "See Other";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
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
  response.body =
      absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                   StatusText(status), "</title></head>\n<body><h1>", StatusText(status),
                   "</h1><p>", Escape(sentence), "</p></body></html>\n");
  return response;
}

std::string RenderResponse(const HttpResponse& response, bool head) {
  std::string text =
      absl::StrCat("HTTP/1.1 ", response.status, " ", StatusText(response.status),
                   "\r\nContent-Type: ", response.content_type,
                   "\r\nContent-Length: ", response.body.size(), "\r\n", kHeadersOfAll);
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  absl::StrAppend(&text, "\r\n");
  if (!head) text += response.body;
  return text;
}

}  // namespace tony::web
