// Reads one HTTP request from bytes, strictly and within limits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "web/http_message.h"

namespace tony::web {

/// Takes the bytes of one request as they come. Boost.Beast parses the header; other things that a
/// client may send are refused here. Not thread safe.
class RequestReader {
 public:
  static constexpr size_t kMostHeaderBytes = size_t{16} * 1024;
  static constexpr size_t kMostTargetBytes = size_t{2} * 1024;

  /// `peer_address` is copied into the request.
  explicit RequestReader(std::string peer_address);
  ~RequestReader();

  /// Returns the request, or the response to a refused one; nothing while more bytes are needed.
  /// 400 – it is not HTTP, or its target or its only Host is malformed; 405 – a method other than
  /// GET and HEAD; 413 – it has a body; 414, 431 – it is too long; 505 – another version. Must not
  /// be called again after it has returned something.
  std::optional<std::variant<HttpRequest, HttpResponse>> Take(const std::string& bytes);

 private:
  struct Parser;

  const std::string peer_address_;
  std::string pending_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace tony::web
