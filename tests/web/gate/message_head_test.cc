// Heads that pass through the gate: what is read of them, and what of them goes on.
#include "web/gate/message_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace tony::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The head of complete bytes, or the status of their refusal.
std::variant<RequestHead, int> ReadRequest(const std::string& bytes) {
  RequestHeadReader reader;
  auto result = reader.Take(bytes);
  if (!result) return 0;
  if (const auto* refusal = std::get_if<HttpResponse>(&*result)) return refusal->status;
  return std::get<RequestHead>(std::move(*result));
}

std::string Passed(const std::string& bytes) {
  const auto head = ReadRequest(bytes);
  return std::holds_alternative<RequestHead>(head) ? RenderHead(std::get<RequestHead>(head)) : "";
}

int Refused(const std::string& bytes) {
  const auto head = ReadRequest(bytes);
  return std::holds_alternative<int>(head) ? std::get<int>(head) : 200;
}

std::string PassedResponse(const std::string& bytes) {
  ResponseHeadReader reader;
  const auto head = reader.Take(bytes);
  return head.ok() && head->has_value() ? RenderHead(**head, "node1:6006") : "";
}

TEST(RequestHeadTest, OnlyTheConnectionsOwnLinesChange) {
  EXPECT_EQ(Passed("GET /data?a=%2F&b HTTP/1.1\r\nHost: 127.0.0.1:8081\r\nX-Own: 1\r\n"
                   "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nx-own: 2\r\nTE: trailers\r\n"
                   "Keep-Alive: 5\r\nExpect: 100-continue\r\n\r\n"),
            "GET /data?a=%2F&b HTTP/1.1\r\nHost: 127.0.0.1:8081\r\nX-Own: 1\r\nx-own: 2\r\n"
            "Connection: close\r\n\r\n");
}

TEST(RequestHeadTest, NoLineOfTheConnectionHidesTheEndOfTheMessage) {
  EXPECT_THAT(Passed("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                     "Connection: Content-Length, host\r\n\r\n"),
              HasSubstr("Host: h\r\nContent-Length: 3\r\n"));
}

TEST(RequestHeadTest, TheProgramLearnsNoCookieOfTonys) {
  const std::string text =
      "GET / HTTP/1.1\r\nHost: h\r\nCookie: tony-page=1; _xsrf=2|a; tony-program-8081=3; b=x=y\r\n"
      "Cookie: tony-program-8082=4\r\n\r\n";
  const auto head = ReadRequest(text);
  ASSERT_TRUE(std::holds_alternative<RequestHead>(head));
  EXPECT_EQ(std::get<RequestHead>(head).cookies, (HeadLines{{"tony-page", "1"},
                                                            {"_xsrf", "2|a"},
                                                            {"tony-program-8081", "3"},
                                                            {"b", "x=y"},
                                                            {"tony-program-8082", "4"}}));
  EXPECT_EQ(Passed(text),
            "GET / HTTP/1.1\r\nHost: h\r\nCookie: _xsrf=2|a; b=x=y\r\nConnection: close\r\n\r\n");
}

TEST(RequestHeadTest, AWebSocketStaysOne) {
  const std::string passed = Passed(
      "GET /api/kernels/1/channels HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\n"
      "Upgrade: websocket\r\nSec-WebSocket-Key: abc\r\n\r\n");
  EXPECT_THAT(passed, HasSubstr("Sec-WebSocket-Key: abc\r\nUpgrade: websocket\r\n"
                                "Connection: Upgrade\r\n\r\n"));
  EXPECT_THAT(Passed("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
              Not(HasSubstr("Upgrade")));
}

TEST(RequestHeadTest, WhatMayNotPass) {
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(Refused("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(Refused("hello\r\n\r\n"), 400);
  EXPECT_EQ(Refused("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n"), 405);
  EXPECT_EQ(Refused("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n"), 405);
  const std::string post = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(Refused(post + "Transfer-Encoding: chunked\r\n\r\n"), 411);
  EXPECT_EQ(Refused(post + "Transfer-Encoding: gzip\r\n\r\n"), 411);
  EXPECT_EQ(Refused(post + "Content-Length: 4294967297\r\n\r\n"), 413);
  EXPECT_EQ(Refused(post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n"), 400);
  EXPECT_EQ(Refused(post + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
  EXPECT_EQ(Refused("GET /" + std::string(70'000, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n"), 431);
  EXPECT_EQ(Refused("GET / HTTP/1.1\r\nX: " + std::string(70'000, 'x')), 431);
}

TEST(RequestHeadTest, ComesByteByByteAndEndsBeforeTheBody) {
  RequestHeadReader reader;
  const std::string text = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\nbod";
  for (size_t i = 0; i + 4 < text.size(); ++i) ASSERT_FALSE(reader.Take(text.substr(i, 1))) << i;
  const auto result = reader.Take(text.substr(text.size() - 4));
  ASSERT_TRUE(result && std::holds_alternative<RequestHead>(*result));
  EXPECT_EQ(std::get<RequestHead>(*result).body_bytes, 7U);
  EXPECT_EQ(reader.rest(), "bod");
}

TEST(ResponseHeadTest, OnlyTheConnectionsOwnLinesChange) {
  EXPECT_EQ(
      PassedResponse("HTTP/1.0 404 NOT FOUND\r\nServer: w\r\nConnection: keep-alive\r\n"
                     "Set-Cookie: a=1\r\nSet-Cookie: tony-page=3; Path=/\r\nSet-Cookie: b=2\r\n"
                     "\r\nbody"),
      "HTTP/1.1 404 NOT FOUND\r\nServer: w\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
      "Connection: close\r\n\r\n");
}

TEST(ResponseHeadTest, TheVisitorsLoginsStayAsTheyAre) {
  const std::string passed = PassedResponse(
      "HTTP/1.1 200 OK\r\nclear-site-data: \"cookies\"\r\nSet-Cookie: =tony-page=1\r\n"
      "set-cookie: = \ttony-page=2; Path=/\r\nSet-Cookie: ==tony-program-8081=3\r\n"
      "Set-Cookie: =own\r\nSet-Cookie: own=tony-page\r\n\r\n");
  EXPECT_EQ(passed,
            "HTTP/1.1 200 OK\r\nSet-Cookie: =own\r\nSet-Cookie: own=tony-page\r\n"
            "Connection: close\r\n\r\n");
}

TEST(ResponseHeadTest, ARedirectionStaysAtTheGate) {
  const auto location = [](const std::string& given) {
    const std::string text =
        PassedResponse(absl::StrCat("HTTP/1.1 302 Found\r\nLocation: ", given, "\r\n\r\n"));
    const size_t begin = text.find("Location: ") + 10;
    return text.substr(begin, text.find("\r\n", begin) - begin);
  };
  EXPECT_EQ(location("/lab?x"), "/lab?x");
  EXPECT_EQ(location("../tree"), "../tree");
  EXPECT_EQ(location("/login?next=http://node1:6006/x"), "/login?next=http://node1:6006/x");
  EXPECT_EQ(location("http://node1:6006/lab?next=http://a/"), "/lab?next=http://a/");
  EXPECT_EQ(location("http://127.0.0.1:6006"), "/");
  EXPECT_EQ(location("http://localhost:6006?x=1"), "/?x=1");
  EXPECT_EQ(location("http://node1:6006//node2/lab"), "/.//node2/lab");
  EXPECT_EQ(location("http://node2:6006/lab"), "http://node2:6006/lab");
  EXPECT_EQ(location("https://example.org/"), "https://example.org/");
}

TEST(ResponseHeadTest, FramesOfTheProgramAndOfThePageOnly) {
  const auto policy = [](const HeadLines& lines) {
    return FramePolicy(lines, {"http://127.0.0.1:8080"});
  };
  const std::string both = "frame-ancestors 'self' http://127.0.0.1:8080";
  EXPECT_EQ(policy({}), both);
  EXPECT_EQ(policy({{"Content-Security-Policy", "default-src 'self'"}}), both);
  // Browsers ignore X-Frame-Options beside frame-ancestors, so the policy has to say it.
  EXPECT_EQ(policy({{"x-frame-options", "SameOrigin"}}), "frame-ancestors 'self'");
  EXPECT_EQ(policy({{"X-Frame-Options", "DENY"}}), "frame-ancestors 'none'");
  EXPECT_EQ(policy({{"X-Frame-Options", "DENY"}, {"X-Frame-Options", "SAMEORIGIN"}}),
            "frame-ancestors 'none'");
  EXPECT_EQ(policy({{"X-Frame-Options", "SAMEORIGIN, what"}}), "frame-ancestors 'none'");
  EXPECT_EQ(policy({{"X-Frame-Options", "ALLOWALL"}}), both);
  // They ignore it beside the program's own, too, which stays as it is.
  EXPECT_EQ(policy({{"X-Frame-Options", "DENY"},
                    {"content-security-policy", "img-src a; Frame-Ancestors http://a"}}),
            both);
  EXPECT_EQ(policy({{"X-Frame-Options", "DENY"},
                    {"Content-Security-Policy-Report-Only", "frame-ancestors 'self'"},
                    {"Content-Security-Policy", "report-uri /frame-ancestors"}}),
            "frame-ancestors 'none'");
}

TEST(ResponseHeadTest, InterimResponsesArePassedOver) {
  EXPECT_EQ(
      PassedResponse("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
                     "HTTP/1.1 204 No Content\r\n\r\n"),
      "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

TEST(ResponseHeadTest, WhatIsNoResponse) {
  EXPECT_FALSE(ResponseHeadReader().Take("SSH-2.0-OpenSSH\r\n\r\n").ok());
  EXPECT_FALSE(
      ResponseHeadReader().Take("HTTP/1.1 200 OK\r\nX: " + std::string(300'000, 'x')).ok());
}

}  // namespace
}  // namespace tony::web
