// Heads of requests: Horovod's, and others.
#include "rendezvous/request_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace tony::rendezvous {
namespace {

std::optional<std::variant<RequestHead, Refusal>> Read(const std::string& bytes) {
  return ReadHead(bytes.data(), bytes.size());
}

/// The status of the refusal; 0: it is none, 1: more is needed.
int RefusalOf(const std::string& bytes) {
  const auto understood = Read(bytes);
  if (!understood) return 1;
  const auto* refusal = std::get_if<Refusal>(&*understood);
  if (refusal == nullptr) return 0;
  EXPECT_FALSE(refusal->sentence.empty());
  return refusal->status;
}

/// A complete request of `method` with `target`.
std::string Request(const std::string& method, const std::string& target,
                    const std::string& headers = "Content-Length: 0\r\n") {
  return method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n" + headers + "\r\n";
}

TEST(RequestHead, AsHorovodSendsThem) {
  const std::string bytes =
      "PUT /cross_0_process_set_hash_c5fd0bd60ba79a9d/3 HTTP/1.1\r\nHost: "
      "127.0.0.1\r\nContent-Length: 5\r\n\r\n";
  const auto understood = Read(bytes + "value");
  ASSERT_TRUE(understood);
  const auto* head = std::get_if<RequestHead>(&*understood);
  ASSERT_NE(head, nullptr);
  EXPECT_EQ(head->method, RequestHead::Method::kPut);
  EXPECT_EQ(head->scope, "cross_0_process_set_hash_c5fd0bd60ba79a9d");
  EXPECT_EQ(head->key, "3");
  EXPECT_EQ(head->body_bytes, 5U);
  EXPECT_EQ(head->head_bytes, bytes.size());
}

TEST(RequestHead, EachMethod) {
  for (const auto& [name, method] : {std::pair("GET", RequestHead::Method::kGet),
                                     std::pair("DELETE", RequestHead::Method::kDelete),
                                     std::pair("PUT", RequestHead::Method::kPut)}) {
    const auto understood = Read(Request(name, "/rank_and_size/host-1.example.com:0"));
    ASSERT_TRUE(understood);
    const auto* head = std::get_if<RequestHead>(&*understood);
    ASSERT_NE(head, nullptr) << std::get<Refusal>(*understood).sentence;
    EXPECT_EQ(head->method, method);
    EXPECT_EQ(head->key, "host-1.example.com:0");
  }
}

TEST(RequestHead, ComesInPieces) {
  const std::string bytes = Request("PUT", "/scope/key", "Content-Length: 12345\r\n");
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(RefusalOf(bytes.substr(0, size)), 1) << size;
  }
  EXPECT_EQ(RefusalOf(bytes), 0);
}

TEST(RequestHead, AnyLengthIsForTheCallerToJudge) {
  const auto understood =
      Read(Request("PUT", "/scope/key", "Content-Length: 18446744073709551614\r\n"));
  ASSERT_TRUE(understood);
  ASSERT_TRUE(std::holds_alternative<RequestHead>(*understood));
  EXPECT_EQ(std::get<RequestHead>(*understood).body_bytes, 18446744073709551614U);
}

TEST(RequestHead, PathsHaveTwoParts) {
  for (const std::string target :
       {"/", "/a", "/a/", "//a", "/a/b/c", "/a/b/", "//a/b", "a/b", "http://h/a/b", "*"}) {
    EXPECT_EQ(RefusalOf(Request("GET", target)), 400) << target;
  }
}

TEST(RequestHead, Garbage) {
  for (const std::string& bytes :
       {std::string("\x16\x03\x01\x02\x00\x01\x00", 7), std::string("\0\0\0\0", 4),
        std::string("hello\r\n\r\n"), std::string("hello\n"), std::string("GET /a/b\r\n\r\n"),
        std::string("GET /a/b HTTP/1.1\r\nno header\r\n\r\n"),
        std::string("GET /a/b HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
        std::string("PUT /a/b HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("PUT /a/b HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        std::string("PUT /a/b HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        std::string("GET /a\x01/b HTTP/1.1\r\n\r\n")}) {
    EXPECT_EQ(RefusalOf(bytes), 400) << bytes;
  }
}

TEST(RequestHead, WhatIsNotUnderstood) {
  EXPECT_EQ(RefusalOf(Request("POST", "/a/b")), 405);
  EXPECT_EQ(RefusalOf(Request("BREW", "/a/b")), 405);
  EXPECT_EQ(RefusalOf("GET /a/b HTTP/3.0\r\n\r\n"), 505);
  EXPECT_EQ(RefusalOf(Request("PUT", "/a/b", "")), 411);
  EXPECT_EQ(RefusalOf(Request("PUT", "/a/b", "Transfer-Encoding: chunked\r\n")), 411);
  EXPECT_EQ(RefusalOf(Request("GET", "/a/b", "Transfer-Encoding: chunked\r\n")), 411);
  EXPECT_EQ(RefusalOf(Request("GET", "/a/b", "Content-Length: 1\r\n")), 400);
  EXPECT_EQ(RefusalOf(Request("DELETE", "/a/b", "Content-Length: 1\r\n")), 400);
  // The page of a browser that has found this port.
  EXPECT_EQ(RefusalOf(Request("GET", "/a/b", "Origin: http://example.com\r\n")), 403);
  // Python's clients.
  EXPECT_EQ(RefusalOf("GET /a/b HTTP/1.0\r\n\r\n"), 0);
  EXPECT_EQ(RefusalOf(Request("GET", "/a/b", "Accept-Encoding: identity\r\n")), 0);
}

}  // namespace
}  // namespace tony::rendezvous
