// Two handles of libcurl's easy interface: one keeps cookies, the other never has any.
#include "http/http_client.h"

#include <cstring>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "http/curl_library.h"

namespace tony::http {
namespace {

constexpr size_t kLargestBody = size_t{16} * 1024 * 1024;
constexpr long kBufferBytes = 256 * 1024;
/// The bit mask of protocols. libcurl before 7.85 lacks CURLOPT_PROTOCOLS_STR, and the headers of
/// later ones call this name, CURLOPT_PROTOCOLS, deprecated.
constexpr auto kProtocols = static_cast<CURLoption>(181);
/// Marks the status of a request to a server whose certificate is not trusted.
constexpr char kDistrusted[] = "tony.http/distrusted";
constexpr int kFirstGood = 200;
constexpr int kFirstNotGood = 300;

/// The state of one request, which libcurl's callbacks receive. Not thread safe.
struct Exchange {
  const CurlLibrary& curl;
  CURL* handle;
  const HttpRequest& request;
  HttpResponse response;
  absl::Status status;  ///< the error of the source or the sink that ended the request
};

// libcurl's read callback: the request's body.
size_t OnSource(char* data, size_t /*one*/, size_t size, void* exchange) {
  auto* const self = static_cast<Exchange*>(exchange);
  const auto bytes = self->request.source(data, size);
  if (bytes.ok()) return *bytes;
  self->status = bytes.status();
  return CURL_READFUNC_ABORT;
}

// libcurl's write callback: the response's body. Only the body of a 2xx answer goes to the sink. An
// error's body is kept, since it names the exception.
size_t OnBody(char* data, size_t /*one*/, size_t size, void* exchange) {
  auto* const self = static_cast<Exchange*>(exchange);
  long code = 0;
  self->curl.easy_getinfo(self->handle, CURLINFO_RESPONSE_CODE, &code);
  if (self->request.sink != nullptr && code >= kFirstGood && code < kFirstNotGood) {
    self->status = self->request.sink(data, size);
  } else if (self->response.body.size() + size > kLargestBody) {
    self->status = absl::ResourceExhaustedError("the server's answer is longer than 16 MiB");
  } else {
    self->response.body.append(data, size);
  }
  return self->status.ok() ? size : 0;
}

// libcurl's progress callback: anything but 0 ends the request.
int OnProgress(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0;
}

/// The part of `url` up to its path: scheme, host and port.
std::string ServerOf(const std::string& url) {
  const size_t host = url.find("://");
  return host == std::string::npos ? url : url.substr(0, url.find_first_of("/?#", host + 3));
}

long Millis(Duration duration) {
  return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

}  // namespace

/// A handle of libcurl. SetUp() sets the options of all requests once, and Perform() those of one
/// request. curl_easy_reset() between requests is no alternative: before libcurl 8.0 it leaks the
/// memory of CURLOPT_COOKIEFILE. Not thread safe.
struct HttpClient::Handle {
  explicit Handle(const CurlLibrary& library) : curl(library), easy(library.easy_init()) {}
  ~Handle() {
    if (easy != nullptr) curl.easy_cleanup(easy);
    curl.slist_free_all(headers);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// Sets an option. Requests are sent only while none was refused: each one left out would widen
  /// what a request may do. The first refusal stays in `refused`.
  template <typename Value>
  void Set(CURLoption option, Value value) {
    const CURLcode result = curl.easy_setopt(easy, option, value);
    if (refused == CURLE_OK) refused = result;
  }
  /// Sets an option of a feature that libcurl may have been built without: then there is nothing to
  /// turn off.
  template <typename Value>
  void SetIfBuiltIn(CURLoption option, Value value) {
    const CURLcode result = curl.easy_setopt(easy, option, value);
    const bool lacks = result == CURLE_UNKNOWN_OPTION || result == CURLE_NOT_BUILT_IN;
    if (refused == CURLE_OK && !lacks) refused = result;
  }

  void SetUp(Duration timeout, const Network& network, bool cookies) {
    // The empty "Expect:" keeps libcurl from waiting for "100 Continue" before it sends a body.
    for (const char* const header : {"Content-Type: application/octet-stream", "Expect:"}) {
      headers = curl.slist_append(headers, header);
    }
    Set(CURLOPT_HTTPHEADER, headers);
    if (curl.easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK) {
      Set(kProtocols, long{CURLPROTO_HTTP | CURLPROTO_HTTPS});
    }
    Set(CURLOPT_NOSIGNAL, 1L);
    if (cookies) SetIfBuiltIn(CURLOPT_COOKIEFILE, "");  // keeps cookies, reads no file
    // Without these two, libcurl obeys http_proxy, https_proxy, all_proxy and no_proxy.
    if (network.proxy.empty()) {
      SetIfBuiltIn(CURLOPT_PROXY, "");
      SetIfBuiltIn(CURLOPT_NOPROXY, "*");
    } else {
      Set(CURLOPT_PROXY, network.proxy.c_str());
      Set(CURLOPT_NOPROXY, "");
    }
    if (!network.ca_file.empty()) {
      Set(CURLOPT_CAINFO, network.ca_file.c_str());
      SetIfBuiltIn(CURLOPT_CAPATH, nullptr);
    }
    Set(CURLOPT_CONNECTTIMEOUT_MS, Millis(timeout));
    // There is no limit for the whole request, since a file may be of any size. A request fails
    // when less than a byte a second has moved for the timeout.
    Set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    Set(CURLOPT_LOW_SPEED_TIME, 1 + Millis(timeout) / 1000);
    // The sizes of buffers make transfers faster, no more.
    curl.easy_setopt(easy, CURLOPT_BUFFERSIZE, kBufferBytes);
    curl.easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, kBufferBytes);
    Set(CURLOPT_WRITEFUNCTION, OnBody);
    Set(CURLOPT_READFUNCTION, OnSource);
    Set(CURLOPT_XFERINFOFUNCTION, OnProgress);
  }

  CURLcode Perform(Exchange* exchange) {
    const HttpRequest& request = exchange->request;
    if (std::string server = ServerOf(request.url); server != server_of_cookies) {
      SetIfBuiltIn(CURLOPT_COOKIELIST, "ALL");  // deletes all cookies
      server_of_cookies = std::move(server);
    }
    Set(CURLOPT_URL, request.url.c_str());
    Set(CURLOPT_WRITEDATA, exchange);
    Set(CURLOPT_READDATA, exchange);
    Set(CURLOPT_XFERINFODATA, &request.stop);
    Set(CURLOPT_NOPROGRESS, request.stop.stop_possible() ? 0L : 1L);
    Set(CURLOPT_UPLOAD, request.source != nullptr ? 1L : 0L);
    // CURLOPT_UPLOAD has made it a request without a body, also after an earlier one with `body`.
    if (request.body) {
      Set(CURLOPT_POST, 1L);
      Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body->size()));
      Set(CURLOPT_POSTFIELDS, request.body->data());
    }
    Set(CURLOPT_TIMEOUT_MS, Millis(request.deadline));
    Set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    Set(CURLOPT_HTTPAUTH, request.negotiate ? CURLAUTH_NEGOTIATE : CURLAUTH_BASIC);
    // libcurl starts SPNEGO only with a user name set; the empty name stands for the ticket's
    // owner.
    Set(CURLOPT_USERPWD, request.negotiate ? ":" : nullptr);
    if (request.headers.empty()) return PerformWith(headers);
    curl_slist* own = nullptr;
    for (const std::string& header : request.headers) {
      own = curl.slist_append(own, header.c_str());
    }
    own = curl.slist_append(own, "Expect:");
    const CURLcode code = PerformWith(own);
    curl.easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl.slist_free_all(own);
    return code;
  }

  CURLcode PerformWith(curl_slist* lines) {
    Set(CURLOPT_HTTPHEADER, lines);
    if (const CURLcode code = std::exchange(refused, CURLE_OK); code != CURLE_OK) return code;
    return curl.easy_perform(easy);
  }

  const CurlLibrary& curl;
  CURL* const easy;
  curl_slist* headers = nullptr;
  CURLcode refused = CURLE_OK;  ///< of the first option that libcurl did not take
  std::string server_of_cookies;
};

HttpClient::HttpClient(std::unique_ptr<Handle> with_cookies,
                       std::unique_ptr<Handle> without_cookies)
    : with_cookies_(std::move(with_cookies)), without_cookies_(std::move(without_cookies)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient& HttpClient::operator=(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

bool IsDistrusted(const absl::Status& status) { return status.GetPayload(kDistrusted).has_value(); }

absl::StatusOr<HttpClient> HttpClient::Create(Duration timeout, const Network& network) {
  TONY_ASSIGN_OR_RETURN(const CurlLibrary* const library, CurlLibrary::Load());
  return Create(timeout, network, *library);
}

absl::StatusOr<HttpClient> HttpClient::Create(Duration timeout, const Network& network,
                                              const CurlLibrary& library) {
  auto with_cookies = std::make_unique<Handle>(library);
  auto without_cookies = std::make_unique<Handle>(library);
  if (with_cookies->easy == nullptr || without_cookies->easy == nullptr) {
    return absl::FailedPreconditionError("libcurl does not start");
  }
  with_cookies->SetUp(timeout, network, true);
  without_cookies->SetUp(timeout, network, false);
  for (const CURLcode refused : {with_cookies->refused, without_cookies->refused}) {
    if (refused == CURLE_OK) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the installed libcurl does not take an option that safe requests need (",
                     library.easy_strerror(refused), "): install a newer one"));
  }
  return HttpClient(std::move(with_cookies), std::move(without_cookies));
}

absl::StatusOr<HttpResponse> HttpClient::Send(const HttpRequest& request) {
  Handle& handle = request.without_cookies ? *without_cookies_ : *with_cookies_;
  const CurlLibrary& curl = handle.curl;
  // A libcurl without SPNEGO would send the request unauthenticated, and the server's 401 would
  // blame the user's ticket.
  if (request.negotiate &&
      (curl.version_info(CURLVERSION_NOW)->features & CURL_VERSION_SPNEGO) == 0) {
    return absl::FailedPreconditionError(
        "this cluster's web servers want Kerberos, and the installed libcurl was built without it");
  }
  Exchange exchange{.curl = curl, .handle = handle.easy, .request = request, .status = {}};
  const CURLcode result = handle.Perform(&exchange);
  // The query holds the delegation token, so messages and logs get the URL without it.
  const std::string where =
      request.secret_path ? ServerOf(request.url) : request.url.substr(0, request.url.find('?'));
  if (!exchange.status.ok()) return Annotate(exchange.status, where);
  if (request.stop.stop_requested()) {
    return absl::CancelledError(absl::StrCat(where, ": nobody waits for the answer any more"));
  }
  if (result != CURLE_OK) {
    LogDebug("a web server does not answer",
             {{"peer", ServerOf(request.url)}, {"why", curl.easy_strerror(result)}});
    absl::Status why =
        absl::UnavailableError(absl::StrCat(where, ": ", curl.easy_strerror(result)));
    if (result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CACERT_BADFILE) {
      why.SetPayload(kDistrusted, absl::Cord());
    }
    return why;
  }
  long code = 0;
  const char* location = nullptr;
  curl.easy_getinfo(handle.easy, CURLINFO_RESPONSE_CODE, &code);
  curl.easy_getinfo(handle.easy, CURLINFO_REDIRECT_URL, &location);
  curl_off_t retry_after = 0;
  curl.easy_getinfo(handle.easy, CURLINFO_RETRY_AFTER, &retry_after);
  exchange.response.code = static_cast<int>(code);
  exchange.response.retry_after = std::chrono::seconds(retry_after);
  exchange.response.location = location == nullptr ? "" : location;
  return std::move(exchange.response);
}

}  // namespace tony::http
