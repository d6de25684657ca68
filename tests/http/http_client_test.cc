// A client of HTTP on a libcurl that lacks options.
#include "http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "absl/strings/str_cat.h"
#include "http/curl_library.h"
#include "tests/os/network/silent_server.h"

namespace tony::http {
namespace {

using ::testing::HasSubstr;

/// CURLOPT_PROTOCOLS, which newer headers call deprecated.
constexpr int kProtocols = 181;

template <int... kRefused>
CURLcode Refuse(CURL* /*handle*/, [[maybe_unused]] CURLoption option, ...) {
  return ((option == kRefused) || ...) ? CURLE_UNKNOWN_OPTION : CURLE_OK;
}

absl::Status CreateWith(decltype(&curl_easy_setopt) easy_setopt) {
  CurlLibrary library = *CurlLibrary::Load().value();
  library.easy_setopt = easy_setopt;
  return HttpClient::Create(std::chrono::seconds(1), {}, library).status();
}

TEST(HttpClient, ProtocolsAreLimitedInOlderVersionsToo) {
  EXPECT_EQ(CreateWith(&Refuse<>), absl::OkStatus());
  EXPECT_EQ(CreateWith(&Refuse<CURLOPT_PROTOCOLS_STR>), absl::OkStatus());
  const absl::Status refused = CreateWith(&Refuse<CURLOPT_PROTOCOLS_STR, kProtocols>);
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("install a newer one"));
}

TEST(HttpClient, WhatLibcurlIsBuiltWithoutNeedNotBeTurnedOff) {
  EXPECT_EQ(
      CreateWith(
          &Refuse<CURLOPT_PROXY, CURLOPT_NOPROXY, CURLOPT_COOKIEFILE, CURLOPT_UPLOAD_BUFFERSIZE>),
      absl::OkStatus());
  EXPECT_FALSE(CreateWith(&Refuse<CURLOPT_CONNECTTIMEOUT_MS>).ok());
}

TEST(HttpClient, ProxyAndAuthoritiesHaveToBeTaken) {
  CurlLibrary library = *CurlLibrary::Load().value();
  const std::chrono::seconds timeout(1);
  library.easy_setopt = &Refuse<CURLOPT_PROXY>;
  EXPECT_FALSE(HttpClient::Create(timeout, {.proxy = "http://proxy:3128"}, library).ok());
  library.easy_setopt = &Refuse<CURLOPT_CAINFO>;
  EXPECT_TRUE(HttpClient::Create(timeout, {}, library).ok());
  EXPECT_FALSE(HttpClient::Create(timeout, {.ca_file = "/ca.pem"}, library).ok());
}

// Its server would be waited for until the timeout.
TEST(HttpClient, ARequestIsStopped) {
  const os::SilentServer server;
  HttpClient client = HttpClient::Create(std::chrono::seconds(100)).value();
  std::stop_source stop;
  const auto begin = std::chrono::steady_clock::now();
  const std::jthread stopper([&] {
    EXPECT_TRUE(server.WaitForConnection());
    stop.request_stop();
  });
  const HttpRequest request{.method = "GET",
                            .url = absl::StrCat("http://", server.address(), "/"),
                            .stop = stop.get_token()};
  const absl::Status stopped = client.Send(request).status();
  EXPECT_TRUE(absl::IsCancelled(stopped)) << stopped;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(absl::IsCancelled(client.Send(request).status())) << "nor is another one sent";
}

}  // namespace
}  // namespace tony::http
