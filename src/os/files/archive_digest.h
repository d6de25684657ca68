// SHA-256, the digest that identifies archives.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

struct evp_md_ctx_st;

namespace tony::os {

/// The digest of bytes that come in pieces. Not thread safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(const void* data, size_t size);
  /// Returns 64 lowercase hexadecimal digits. Call it only once. Internal – OpenSSL has no SHA-256.
  absl::StatusOr<std::string> Finish();

 private:
  struct Freer {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Freer> context_;
  bool ok_ = false;
};

}  // namespace tony::os
