// The head of a request to the rendezvous server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

namespace tony::rendezvous {

/// A parsed head: "PUT /global/3 HTTP/1.1" and the fields behind it. Plain data.
struct RequestHead {
  enum class Method { kGet, kPut, kDelete };

  Method method = Method::kGet;
  std::string scope;
  std::string key;
  size_t body_bytes = 0;  ///< 0 except for PUT
  size_t head_bytes = 0;  ///< where the body begins
};

/// The answer to a request that cannot be carried out.
struct Refusal {
  int status = 400;
  std::string sentence;
};

/// Reads the head that begins at `bytes`, at most 8 KiB; returns nothing while it is incomplete.
/// The path has the form of Horovod's clients: "/SCOPE/KEY", not encoded. A body needs a
/// Content-Length.
///
/// 400 – it is not HTTP, its path does not have exactly two parts, or it has a body that it should
/// not have; 403 – a page in a browser sent it; 405 – another method; 411 – a body of unknown
/// length; 505 – another version.
std::optional<std::variant<RequestHead, Refusal>> ReadHead(const char* bytes, size_t size);

}  // namespace tony::rendezvous
