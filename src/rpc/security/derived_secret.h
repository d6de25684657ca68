// Derives independent secrets of a job, one for each purpose.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::rpc {

/// 64 hexadecimal digits: HMAC-SHA256 of `purpose`, keyed by the private key of the job's
/// certificate authority (`authority_pem`, CertificateAuthority::ToPem()). The result is always the
/// same, hence the same in each ApplicationMaster of the job. It reveals neither the key nor the
/// secrets for other purposes. Thread safe. InvalidArgument – `authority_pem` holds no such key.
/// Internal – OpenSSL's error.
absl::StatusOr<std::string> DeriveSecret(const std::string& authority_pem,
                                         const std::string& purpose);

}  // namespace tony::rpc
