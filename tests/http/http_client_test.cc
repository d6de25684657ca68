// A client of HTTP on a libcurl that lacks options.
#include "http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/curl_library.h"

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
  return HttpClient::Create(std::chrono::seconds(1), library).status();
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

}  // namespace
}  // namespace tony::http
