// A job's own certificate authority: it alone signs the certificates of the processes that speak
// for the job.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/security/credentials.h"
#include "rpc/security/role.h"

namespace tony::rpc {

/// The name in the ApplicationMaster's certificate, and in no other. Clients and executors require
/// it of the server, so that an executor's certificate cannot pose as the ApplicationMaster.
inline constexpr char kApplicationMasterName[] = "am.tony";

/// Signs certificates of one job: ECDSA P-256, valid from one day ago (hosts' clocks differ) for
/// ten years. Thread safe (immutable once made).
///
/// The authority uses one key under two names. Servers (the ApplicationMaster) are certified under
/// one name, clients and executors under the other, and each side trusts the other side's name
/// alone. This has two effects:
/// 1. A certificate is worthless on the other side, whatever it contains.
/// 2. OpenSSL finds no issuer of a side's own certificate in its store. It therefore neither
///    verifies that certificate nor sends the authority's in each handshake, which saves a sixth of
///    a handshake's cost on both sides.
/// An executor is also the server of producers of data (src/feed). They have no certificate, and
/// trust the name of clients and executors, in which only an executor's certificate is a server's.
class CertificateAuthority {
 public:
  /// Makes a new key and its two self-signed certificates. InvalidArgument – Role refuses the job
  /// id. Internal – OpenSSL's error.
  static absl::StatusOr<CertificateAuthority> Create(const std::string& job_id);
  /// InvalidArgument – `pem` is not what ToPem() returned.
  static absl::StatusOr<CertificateAuthority> Load(const std::string& pem);

  /// A new key, a certificate for `role`, and the authority certificate against which the role's
  /// peers are checked. Takes about 0.15 ms. InvalidArgument – the role is malformed or of another
  /// job. Internal – OpenSSL's error.
  absl::StatusOr<Credentials> Issue(const Role& role) const;

  /// The certificates and the private key, for a file of mode 0600.
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
