// Requests that are understood, and all that is refused.
#include "web/http/request_reader.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

using Result = std::variant<HttpRequest, HttpResponse>;

std::optional<Result> Read(const std::string& bytes) {
  RequestReader reader("127.0.0.1");
  return reader.Take(bytes);
}

HttpRequest Understood(const std::string& bytes) {
  const std::optional<Result> result = Read(bytes);
  EXPECT_TRUE(result.has_value());
  if (!result) return {};
  const auto* request = std::get_if<HttpRequest>(&*result);
  EXPECT_NE(request, nullptr) << std::get<HttpResponse>(*result).body;
  return request != nullptr ? *request : HttpRequest{};
}

/// The status of the refusal; 0 for a request that was understood, -1 while more is wanted.
int Refused(const std::string& bytes) {
  const std::optional<Result> result = Read(bytes);
  if (!result) return -1;
  const auto* response = std::get_if<HttpResponse>(&*result);
  return response != nullptr ? response->status : 0;
}

TEST(RequestReader, UnderstandsWhatABrowserSends) {
  const HttpRequest request = Understood(
      "GET /place/logs?code=a%2Bb+c&code=second&empty&x=1=2 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n"
      "Origin: http://127.0.0.1:80\r\nCookie: a=1; tony-page=abc ;b = 2\r\nCookie: c=3\r\n\r\n");
  EXPECT_FALSE(request.head);
  EXPECT_EQ(request.path, "/place/logs");
  EXPECT_EQ(request.query,
            (std::map<std::string, std::string>{{"code", "a+b c"}, {"empty", ""}, {"x", "1=2"}}));
  EXPECT_EQ(request.host, "127.0.0.1:80");
  EXPECT_EQ(request.origin, "http://127.0.0.1:80");
  EXPECT_EQ(request.cookies, (std::map<std::string, std::string>{
                                 {"a", "1"}, {"tony-page", "abc"}, {"b", "2"}, {"c", "3"}}));
  EXPECT_EQ(request.peer_address, "127.0.0.1");
}

TEST(RequestReader, UnderstandsWhatPrometheusSends) {
  const HttpRequest request = Understood(
      "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: Prometheus/2.42.0\r\n"
      "Accept: text/plain;version=0.0.4\r\nAuthorization: Bearer abc\r\n\r\n");
  EXPECT_EQ(request.authorization, "Bearer abc");
}

TEST(RequestReader, TakesARequestByteByByte) {
  const std::string bytes = "HEAD /%41 HTTP/1.0\r\nHost: h\r\n\r\n";
  RequestReader reader("::1");
  for (size_t i = 0; i + 1 < bytes.size(); ++i) {
    ASSERT_FALSE(reader.Take(bytes.substr(i, 1)).has_value()) << i;
  }
  const std::optional<Result> result = reader.Take(bytes.substr(bytes.size() - 1));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(std::get<HttpRequest>(*result).path, "/A");
  EXPECT_TRUE(std::get<HttpRequest>(*result).head);
}

TEST(RequestReader, OnlyLooking) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"}) {
    const std::optional<Result> result =
        Read(absl::StrCat(method, " / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"));
    ASSERT_TRUE(result.has_value()) << method;
    const HttpResponse& response = std::get<HttpResponse>(*result);
    EXPECT_EQ(response.status, 405) << method;
    ASSERT_EQ(response.headers.size(), 1U);
    EXPECT_EQ(response.headers[0].second, "GET, HEAD");
  }
}

TEST(RequestReader, NoBody) {
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"), 413);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            413);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"), 0);
}

std::string PostToStop(const std::string& path) { return path == "/stop" ? "POST" : "GET, HEAD"; }

std::optional<Result> ReadPost(const std::string& bytes) {
  RequestReader reader("127.0.0.1", &PostToStop);
  return reader.Take(bytes);
}

TEST(RequestReader, ABodyWhereThePathTakesOne) {
  const std::string header =
      "POST /stop HTTP/1.1\r\nHost: h\r\nOrigin: http://h\r\nSec-Fetch-Site: same-origin\r\n"
      "Content-Type: application/json\r\nContent-Length: 14\r\n\r\n";
  RequestReader reader("127.0.0.1", &PostToStop);
  EXPECT_FALSE(reader.begun());
  EXPECT_FALSE(reader.Take(header + "{\"reason\"").has_value());
  EXPECT_TRUE(reader.begun());
  const std::optional<Result> result = reader.Take(":\"x\"}GET");
  ASSERT_TRUE(result.has_value());
  const auto& request = std::get<HttpRequest>(*result);
  EXPECT_TRUE(request.post);
  EXPECT_EQ(request.body, "{\"reason\":\"x\"}");
  EXPECT_EQ(request.content_type, "application/json");
  EXPECT_EQ(request.fetch_site, "same-origin");
  EXPECT_TRUE(request.keep_alive);
  EXPECT_TRUE(reader.has_more());
}

TEST(RequestReader, BodiesThatAreRefused) {
  const auto status = [](const std::string& headers, const std::string& body = "") {
    const auto result =
        ReadPost(absl::StrCat("POST /stop HTTP/1.1\r\nHost: h\r\n", headers, "\r\n", body));
    return result ? std::get<HttpResponse>(*result).status : 0;
  };
  EXPECT_EQ(status(""), 411);
  EXPECT_EQ(status("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), 411);
  EXPECT_EQ(status("Content-Length: 65537\r\n"), 413);
  EXPECT_EQ(status("Content-Length: -1\r\n"), 400);
  EXPECT_EQ(status("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400);
  const auto get = ReadPost("GET /stop HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(std::get<HttpResponse>(*get).headers[0].second, "POST");
  EXPECT_EQ(std::get<HttpResponse>(
                *ReadPost("POST /other HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx"))
                .status,
            405);
}

TEST(RequestReader, WhatAClientAccepts) {
  const HttpRequest request = Understood(
      "GET / HTTP/1.1\r\nHost: h\r\nAccept: text/event-stream\r\nIf-None-Match: \"seq-3\"\r\n"
      "Accept-Encoding: br, gzip;q=0.8\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request.accept, "text/event-stream");
  EXPECT_EQ(request.if_none_match, "\"seq-3\"");
  EXPECT_TRUE(request.accepts_gzip);
  EXPECT_FALSE(request.keep_alive);
  EXPECT_FALSE(Understood("GET / HTTP/1.0\r\nHost: h\r\n\r\n").keep_alive);
  EXPECT_FALSE(Understood("GET / HTTP/1.1\r\nHost: h\r\n\r\n").accepts_gzip);
}

TEST(RequestReader, TheUserIsReadFromTheNamedHeaderOnly) {
  const std::string bytes =
      "GET / HTTP/1.1\r\nHost: h\r\nx-forwarded-USER: alice\r\nX-Forwarded-User: bob\r\n\r\n";
  EXPECT_TRUE(Understood(bytes).user_names.empty());
  RequestReader reader("127.0.0.1", &OnlyLooking, "X-Forwarded-User");
  const auto request = std::get<HttpRequest>(*reader.Take(bytes));
  EXPECT_EQ(request.user_names, (std::vector<std::string>{"alice", "bob"}));
}

TEST(RequestReader, ExactlyOneHost) {
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
}

TEST(RequestReader, MalformedTargets) {
  for (const char* target :
       {"http://h/", "*", "/%", "/%4", "/%zz", "/%00", "/%0a", "/?a=%0d", "/%7f"}) {
    EXPECT_EQ(Refused(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: h\r\n\r\n")), 400) << target;
  }
}

TEST(RequestReader, Limits) {
  EXPECT_EQ(Refused(absl::StrCat("GET /", std::string(RequestReader::kMostTargetBytes, 'a'),
                                 " HTTP/1.1\r\nHost: h\r\n\r\n")),
            414);
  EXPECT_EQ(Refused(absl::StrCat("GET / HTTP/1.1\r\nHost: h\r\nX: ",
                                 std::string(RequestReader::kMostHeaderBytes, 'a'), "\r\n\r\n")),
            431);
  // Also when no end of the line is in sight.
  RequestReader reader("h");
  std::optional<Result> result;
  size_t sent = 0;
  while (!result && sent < 10 * RequestReader::kMostHeaderBytes) {
    result = reader.Take(std::string(1000, 'a'));
    sent += 1000;
  }
  EXPECT_TRUE(result.has_value()) << "any amount is taken";
}

TEST(RequestReader, OtherProtocols) {
  EXPECT_GE(Refused("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET /\r\n\r\n"), 400);
  EXPECT_EQ(Refused(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 15)), 400);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost : h\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
            400);
}

TEST(RenderResponse, NoForeignScriptNoFrameNoGuess) {
  HttpResponse response;
  response.body = "<p>x</p>";
  response.headers.emplace_back("Location", "./");
  const std::string text = RenderResponse(response, false);
  EXPECT_EQ(text.find("HTTP/1.1 200 OK\r\n"), 0U);
  for (const char* header :
       {"Content-Type: text/html; charset=utf-8\r\n", "Content-Length: 8\r\n", "default-src 'none'",
        "frame-ancestors 'none'", "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n", "Cache-Control: no-store\r\n", "Connection: close\r\n",
        "Location: ./\r\n", "\r\n\r\n<p>x</p>"}) {
    EXPECT_NE(text.find(header), std::string::npos) << header;
  }
  EXPECT_NE(text.find("Content-Security-Policy: default-src 'none'; script-src 'self'; "
                      "style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
                      "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
                      "'script'; trusted-types 'none'\r\n"),
            std::string::npos);
  const std::string head = RenderResponse(response, true);
  EXPECT_EQ(head, text.substr(0, text.size() - 8));
}

TEST(RenderResponse, OnlyAPageWithAFormMaySendOne) {
  HttpResponse response;
  EXPECT_TRUE(absl::StrContains(RenderResponse(response, false), "form-action 'none'"));
  response.has_form = true;
  const std::string text = RenderResponse(response, false);
  EXPECT_TRUE(absl::StrContains(text, "form-action 'self'")) << text;
  EXPECT_TRUE(absl::StrContains(text, "Referrer-Policy: same-origin\r\n")) << text;
  EXPECT_FALSE(absl::StrContains(text, "no-referrer")) << text;
}

TEST(ErrorResponse, EscapesItsSentence) {
  const HttpResponse response = ErrorResponse(403, "<script>");
  EXPECT_EQ(response.status, 403);
  EXPECT_NE(response.body.find("&lt;script&gt;"), std::string::npos);
  EXPECT_EQ(response.body.find("<script"), std::string::npos);
}

}  // namespace
}  // namespace tony::web
