// A job's own certificate authority: everything that speaks for the job is signed by it, and by
// nothing else.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/security/credentials.h"
#include "rpc/security/role.h"

namespace tony::rpc {

/// The name in the ApplicationMaster's certificate, and in no other: clients and executors require
/// it of the server, so that an executor's certificate cannot pose as the ApplicationMaster.
inline constexpr char kApplicationMasterName[] = "am.tony";

/// Signs certificates of one job: ECDSA P-256, valid from one day ago (hosts' clocks differ) for
/// ten years. Thread safe (immutable once made).
///
/// One key under two names: servers (the ApplicationMaster) are certified under one, clients and
/// executors under the other, and each side trusts the other side's name alone. So a certificate is
/// worth nothing on the other side whatever stands in it; and since OpenSSL finds no issuer of a
/// side's own certificate in its store, it neither checks that certificate nor sends the
/// authority's in each handshake, which is a sixth of a handshake's cost on both sides.
class CertificateAuthority {
 public:
  /// A new key and its two self-signed certificates.
  /// InvalidArgument – a job id that Role refuses; Internal – OpenSSL's error.
  static absl::StatusOr<CertificateAuthority> Create(const std::string& job_id);
  /// InvalidArgument – `pem` is not what ToPem() returned.
  static absl::StatusOr<CertificateAuthority> Load(const std::string& pem);

  /// A new key and certificate for `role`, and the name that its peers are certified under. About
  /// 0.15 ms.
  /// InvalidArgument – the role is malformed or of another job; Internal – OpenSSL's error.
  absl::StatusOr<Credentials> Issue(const Role& role) const;

  /// Certificates and private key, for a file of mode 0600.
  const std::string& ToPem() const { return pem_; }
  const std::string& job_id() const { return job_id_; }

 private:
  struct Keys;

  CertificateAuthority() = default;

  std::string job_id_;
  std::string pem_;
  std::shared_ptr<const Keys> keys_;
};

}  // namespace tony::rpc
