// Secrets of a job's for one purpose each, of which none tells another.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::rpc {

/// 64 hexadecimal digits: HMAC-SHA256 of `purpose`, keyed by the private key of the job's
/// certificate authority (`authority_pem`, CertificateAuthority::ToPem()). The same each time, so
/// in each ApplicationMaster of the job; it says nothing of that key, nor of the secrets for other
/// purposes. Thread safe.
/// InvalidArgument – there is no such key in `authority_pem`; Internal – OpenSSL's error.
absl::StatusOr<std::string> DeriveSecret(const std::string& authority_pem,
                                         const std::string& purpose);

}  // namespace tony::rpc
