// The head of a request to the rendezvous server.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>

namespace tony::rendezvous {

/// "PUT /global/3 HTTP/1.1" and what follows, as it was understood. Plain data.
struct RequestHead {
  enum class Method { kGet, kPut, kDelete };

  Method method = Method::kGet;
  std::string scope;
  std::string key;
  size_t body_bytes = 0;  ///< 0 but for PUT
  size_t head_bytes = 0;  ///< after which the body begins
};

/// An answer to what cannot be carried out.
struct Refusal {
  int status = 400;
  std::string sentence;
};

/// Reads the head that begins at `bytes`, at most 8 KiB; nothing while it is not complete. What it
/// asks for is as Horovod's clients do: "/SCOPE/KEY", not encoded, with Content-Length where there
/// is a body.
///
/// 400 – it is no HTTP, its path has other than two parts, or it has a body that it should not
/// have; 403 – a page of a browser sent it; 405 – another method; 411 – a body of unknown length;
/// 505 – another version.
std::optional<std::variant<RequestHead, Refusal>> ReadHead(const char* bytes, size_t size);

}  // namespace tony::rendezvous
