// Reads one HTTP request from bytes, strictly and within limits.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "web/http_message.h"

namespace tony::web {

/// Takes the bytes of one request as they come. Boost.Beast parses the header; what else may be
/// sent is refused here. Not thread safe.
class RequestReader {
 public:
  static constexpr size_t kMostHeaderBytes = size_t{16} * 1024;
  static constexpr size_t kMostTargetBytes = size_t{2} * 1024;

  /// `peer_address` becomes the request's.
  explicit RequestReader(std::string peer_address);
  ~RequestReader();

  /// The request, or the answer to one that is refused: 400 – it is none of HTTP, or its target or
  /// its one Host is not as it should be; 405 – a method besides GET and HEAD; 413 – it has a body;
  /// 414, 431 – too long; 505 – of another version. Nothing while more bytes are needed. Not to be
  /// called again after it has returned something.
  std::optional<std::variant<HttpRequest, HttpResponse>> Take(const std::string& bytes);

 private:
  struct Parser;

  const std::string peer_address_;
  std::string pending_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace tony::web
