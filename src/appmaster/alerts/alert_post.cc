// The form of the signature is that of GitHub's webhooks, with the timestamp of Stripe's and
// Slack's.
#include "appmaster/alerts/alert_post.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/message_digest.h"

namespace tony::appmaster {
namespace {

constexpr std::chrono::seconds kConnectLimit{5};
constexpr std::chrono::seconds kRequestLimit{10};
/// More of an answer is not read: nothing in it matters.
constexpr size_t kMostAnswerBytes = size_t{64} * 1024;

}  // namespace

absl::StatusOr<std::string> AlertSignature(const std::string& secret, const std::string& timestamp,
                                           const std::string& body) {
  TONY_ASSIGN_OR_RETURN(const std::string digest,
                        os::HmacSha256(secret, absl::StrCat(timestamp, ".", body)));
  return absl::StrCat("sha256=", absl::BytesToHexString(digest));
}

AlertPost::AlertPost(http::HttpClient client, std::string url, std::string secret,
                     std::shared_ptr<const Clock> clock)
    : client_(std::move(client)),
      url_(std::move(url)),
      secret_(std::move(secret)),
      clock_(std::move(clock)) {}

absl::StatusOr<AlertPost> AlertPost::Create(const std::string& url, const std::string& secret,
                                            const http::Network& network,
                                            std::shared_ptr<const Clock> clock) {
  TONY_ASSIGN_OR_RETURN(http::HttpClient client, http::HttpClient::Create(kConnectLimit, network));
  return AlertPost(std::move(client), url, secret, std::move(clock));
}

core::AlertAnswer AlertPost::Send(const AlertMessage& message) {
  const std::string timestamp = absl::StrCat(clock_->UnixMillis() / 1000);
  http::HttpRequest request;
  request.method = "POST";
  request.url = url_;
  request.without_cookies = true;
  request.body = message.body;
  request.deadline = kRequestLimit;
  request.secret_path = true;
  request.headers = {"Content-Type: application/json", "User-Agent: tony",
                     absl::StrCat("X-Tony-Event: ", message.event),
                     absl::StrCat("X-Tony-Delivery: ", message.id),
                     absl::StrCat("X-Tony-Timestamp: ", timestamp)};
  if (!secret_.empty()) {
    const absl::StatusOr<std::string> signature = AlertSignature(secret_, timestamp, message.body);
    if (!signature.ok()) return {0, Duration(0), std::string(signature.status().message())};
    request.headers.push_back(absl::StrCat("X-Tony-Signature: ", *signature));
  }
  size_t received = 0;
  request.sink = [&received](const char*, size_t size) {
    received += size;
    return received <= kMostAnswerBytes
               ? absl::OkStatus()
               : absl::ResourceExhaustedError("its answer is longer than 64 KiB");
  };
  const absl::StatusOr<http::HttpResponse> response = client_.Send(request);
  if (!response.ok()) {
    return {0, Duration(0), std::string(response.status().message()),
            http::IsDistrusted(response.status())};
  }
  return {response->code, response->retry_after, ""};
}

}  // namespace tony::appmaster
