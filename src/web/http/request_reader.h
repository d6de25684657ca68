// Reads one HTTP request from bytes, strictly and within limits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "web/http/http_message.h"

namespace tony::web {

/// The methods that a path takes, as the header Allow has them: "GET, HEAD" or "POST". A path takes
/// a POST with a body, or it can be looked at, or both.
using AllowedMethods = std::function<std::string(const std::string& path)>;

/// Every path can be looked at: "GET, HEAD".
std::string OnlyLooking(const std::string& path);

/// Takes the bytes of one request as they come. Boost.Beast parses it; other things that a client
/// may send are refused here. Not thread safe.
class RequestReader {
 public:
  static constexpr size_t kMostHeaderBytes = size_t{16} * 1024;
  static constexpr size_t kMostTargetBytes = size_t{8} * 1024;
  static constexpr size_t kMostBodyBytes = size_t{64} * 1024;

  /// `peer_address` is copied into the request. `user_header`: the header whose values become
  /// HttpRequest::user_names; empty: none.
  explicit RequestReader(std::string peer_address, AllowedMethods allowed = &OnlyLooking,
                         std::string user_header = "");
  ~RequestReader();

  /// Returns the request, or the response to a refused one; nothing while more bytes are needed.
  /// 400 – it is not HTTP, or its target or its only Host is malformed; 405 – a method that the
  /// path does not take; 411 – a POST does not say how long it is; 413 – it has a body, or too long
  /// a one; 414, 431 – it is too long; 505 – another version. Must not be called again after it has
  /// returned something.
  std::optional<std::variant<HttpRequest, HttpResponse>> Take(const std::string& bytes);

  /// Whether bytes have come that belong to the request that is being read.
  bool begun() const { return begun_; }
  /// Whether bytes have come behind the request.
  bool has_more() const { return !pending_.empty(); }

 private:
  struct Parser;

  const std::string peer_address_;
  const AllowedMethods allowed_;
  const std::string user_header_;
  const std::unique_ptr<Parser> parser_;
  std::string pending_;
  bool begun_ = false;
  bool header_checked_ = false;
  HttpRequest request_;  ///< once the header was checked
};

}  // namespace tony::web
