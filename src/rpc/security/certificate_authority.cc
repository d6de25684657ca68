// Builds X.509 certificates with OpenSSL 3. Encoders that OpenSSL looks up slowly are replaced by
// code here.
#include "rpc/security/certificate_authority.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rpc/security/tls_setup.h"

namespace tony::rpc {
namespace {

constexpr long kClockSkewSeconds = 24 * 3600;
constexpr int kLifetimeDays = 3650;
// Bits of the keyUsage extension, numbered as in RFC 5280, section 4.2.1.3.
constexpr int kDigitalSignature = 0;
constexpr int kKeyCertSign = 5;
constexpr char kServers[] = "tony servers of a job";
constexpr char kClients[] = "tony clients of a job";
// Text around the job's id in the authority's own certificates. It is not the URI of a role: nobody
// can act as the authority.
constexpr char kAuthorityPrefix[] = "tony://";
constexpr char kAuthoritySuffix[] = "/authority";

template <typename T, void (*kFree)(T*)>
struct Deleter {
  void operator()(T* object) const { kFree(object); }
};
template <typename T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Deleter<T, kFree>>;

using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;
using Names = Owned<GENERAL_NAMES, GENERAL_NAMES_free>;
using Bits = Owned<ASN1_BIT_STRING, ASN1_BIT_STRING_free>;
using Purposes = Owned<EXTENDED_KEY_USAGE, EXTENDED_KEY_USAGE_free>;
using Constraints = Owned<BASIC_CONSTRAINTS, BASIC_CONSTRAINTS_free>;
using Bytes = Owned<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free>;
using KeyIdentifier = Owned<AUTHORITY_KEYID, AUTHORITY_KEYID_free>;

using Memory = Owned<BIO, BIO_free_all>;

// Takes the newest entry of OpenSSL's error queue and leaves the queue empty.
absl::Status OpenSslError(const std::string& what) {
  char text[256];
  ERR_error_string_n(ERR_peek_last_error(), text, sizeof(text));
  ERR_clear_error();
  return absl::InternalError(absl::StrCat("OpenSSL cannot ", what, ": ", text));
}

std::string Contents(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return std::string(data, static_cast<size_t>(size));
}

absl::StatusOr<std::string> ToPem(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || PEM_write_bio_X509(memory.get(), certificate) != 1) {
    return OpenSslError("write a certificate");
  }
  return Contents(memory.get());
}

// Encodes PKCS#8 (RFC 5208) around an ECPrivateKey (RFC 5915) of P-256, in which everything but the
// numbers is constant. OpenSSL's own encoder would take as long as all the rest of a certificate.
absl::StatusOr<std::string> ToPem(const EVP_PKEY* key) {
  constexpr std::array<unsigned char, 36> kBeforeNumber = {
      0x30, 0x81, 0x87,                                            // SEQUENCE
      0x02, 0x01, 0x00,                                            // version 0
      0x30, 0x13,                                                  // algorithm: SEQUENCE
      0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01,        // id-ecPublicKey
      0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,  // prime256v1
      0x04, 0x6d, 0x30, 0x6b,                                      // OCTET STRING: SEQUENCE
      0x02, 0x01, 0x01,                                            // version 1
      0x04, 0x20};                                                 // the number: 32 bytes
  constexpr std::array<unsigned char, 5> kBeforePoint = {0xa1, 0x44, 0x03, 0x42, 0x00};
  constexpr size_t kNumberSize = 32;
  constexpr size_t kPointSize = 65;
  std::array<unsigned char, kBeforeNumber.size() + kNumberSize + kBeforePoint.size() + kPointSize>
      der;
  unsigned char* const number = std::copy(kBeforeNumber.begin(), kBeforeNumber.end(), der.data());
  unsigned char* const point =
      std::copy(kBeforePoint.begin(), kBeforePoint.end(), number + kNumberSize);
  BIGNUM* secret = nullptr;
  size_t point_size = 0;
  bool ok = EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &secret) == 1 &&
            BN_bn2binpad(secret, number, kNumberSize) == static_cast<int>(kNumberSize) &&
            EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, kPointSize,
                                            &point_size) == 1 &&
            point_size == kPointSize;
  BN_clear_free(secret);
  const Memory memory(BIO_new(BIO_s_mem()));
  ok = ok && memory != nullptr &&
       PEM_write_bio(memory.get(), PEM_STRING_PKCS8INF, "", der.data(),
                     static_cast<long>(der.size())) > 0;
  OPENSSL_cleanse(der.data(), der.size());
  if (!ok) return OpenSslError("write a private key");
  return Contents(memory.get());
}

absl::StatusOr<Key> NewKey() {
  Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return OpenSslError("make a P-256 key");
  return key;
}

bool AddName(GENERAL_NAMES* names, int type, const std::string& text) {
  GENERAL_NAME* name = GENERAL_NAME_new();
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  if (name == nullptr || value == nullptr ||
      ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) != 1) {
    GENERAL_NAME_free(name);
    ASN1_IA5STRING_free(value);
    return false;
  }
  GENERAL_NAME_set0_value(name, type, value);
  if (sk_GENERAL_NAME_push(names, name) > 0) return true;
  GENERAL_NAME_free(name);
  return false;
}

bool AddExtension(X509* certificate, int nid, void* value, bool critical) {
  return value != nullptr &&
         X509_add1_ext_i2d(certificate, nid, value, critical ? 1 : 0, X509V3_ADD_DEFAULT) == 1;
}

// Subject alternative names: always a URI, and a DNS name unless `dns_name` is empty.
bool AddAlternativeNames(X509* certificate, const std::string& uri, const std::string& dns_name) {
  const Names names(GENERAL_NAMES_new());
  return names != nullptr && AddName(names.get(), GEN_URI, uri) &&
         (dns_name.empty() || AddName(names.get(), GEN_DNS, dns_name)) &&
         AddExtension(certificate, NID_subject_alt_name, names.get(), false);
}

bool AddKeyUsage(X509* certificate, int bit) {
  const Bits usage(ASN1_BIT_STRING_new());
  return usage != nullptr && ASN1_BIT_STRING_set_bit(usage.get(), bit, 1) == 1 &&
         AddExtension(certificate, NID_key_usage, usage.get(), true);
}

bool AddPurposes(X509* certificate, std::initializer_list<int> nids) {
  const Purposes purposes(EXTENDED_KEY_USAGE_new());
  if (purposes == nullptr) return false;
  for (const int nid : nids) {
    if (sk_ASN1_OBJECT_push(purposes.get(), OBJ_nid2obj(nid)) <= 0) return false;
  }
  return AddExtension(certificate, NID_ext_key_usage, purposes.get(), false);
}

// An executor is a client of the ApplicationMaster, and the server of those who feed its task.
bool AddPurposesOf(RoleKind role, X509* certificate) {
  if (role == RoleKind::kApplicationMaster) return AddPurposes(certificate, {NID_server_auth});
  if (role == RoleKind::kClient) return AddPurposes(certificate, {NID_client_auth});
  return AddPurposes(certificate, {NID_client_auth, NID_server_auth});
}

bool AddBasicConstraints(X509* certificate, bool authority) {
  const Constraints constraints(BASIC_CONSTRAINTS_new());
  if (constraints == nullptr) return false;
  constraints->ca = authority ? 0xff : 0;
  return AddExtension(certificate, NID_basic_constraints, constraints.get(), true);
}

Bytes DigestOfKey(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  Bytes bytes(ASN1_OCTET_STRING_new());
  if (bytes == nullptr || X509_pubkey_digest(certificate, EVP_sha1(), digest, &size) != 1 ||
      ASN1_OCTET_STRING_set(bytes.get(), digest, static_cast<int>(size)) != 1) {
    return nullptr;
  }
  return bytes;
}

// The identifier tells a verifier which key it needs, because the authorities of all jobs have the
// same subjects.
bool AddAuthorityKeyIdentifier(X509* certificate, const X509* authority) {
  const KeyIdentifier identifier(AUTHORITY_KEYID_new());
  if (identifier == nullptr) return false;
  identifier->keyid = DigestOfKey(authority).release();
  return identifier->keyid != nullptr &&
         AddExtension(certificate, NID_authority_key_identifier, identifier.get(), false);
}

bool SetRandomSerial(X509* certificate) {
  unsigned char bytes[16];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) return false;
  bytes[0] = (bytes[0] & 0x7f) | 0x40;  // positive, and always of the same length
  const Owned<BIGNUM, BN_free> number(BN_bin2bn(bytes, sizeof(bytes), nullptr));
  return number != nullptr &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetCommonName(X509_NAME* name, const char* text) {
  return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(text), -1, -1, 0) == 1;
}

// X509_set_pubkey() would do the same, but spends half of a certificate's time on looking for an
// encoder.
bool SetPublicKey(X509* certificate, const EVP_PKEY* key) {
  size_t size = 0;
  if (EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, nullptr, 0, &size) != 1) {
    return false;
  }
  auto* const point = static_cast<unsigned char*>(OPENSSL_malloc(size));
  if (point != nullptr &&
      EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, size, &size) == 1 &&
      X509_PUBKEY_set0_param(
          X509_get_X509_PUBKEY(certificate), OBJ_nid2obj(NID_X9_62_id_ecPublicKey), V_ASN1_OBJECT,
          OBJ_nid2obj(NID_X9_62_prime256v1), point, static_cast<int>(size)) == 1) {
    return true;
  }
  OPENSSL_free(point);
  return false;
}

// A certificate with version, serial number, validity, subject and public key; the caller adds the
// rest.
absl::StatusOr<Certificate> NewCertificate(EVP_PKEY* key, const char* common_name) {
  Certificate certificate(X509_new());
  if (certificate == nullptr || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !SetRandomSerial(certificate.get()) ||
      X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kClockSkewSeconds) == nullptr ||
      X509_time_adj_ex(X509_getm_notAfter(certificate.get()), kLifetimeDays, 0, nullptr) ==
          nullptr ||
      !SetCommonName(X509_get_subject_name(certificate.get()), common_name) ||
      !SetPublicKey(certificate.get(), key)) {
    return OpenSslError("make a certificate");
  }
  return certificate;
}

// The job's id in an authority's certificate; empty if there is none.
std::string JobIdOf(const X509* certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr || sk_GENERAL_NAME_num(names.get()) != 1) return "";
  const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), 0);
  if (name->type != GEN_URI) return "";
  const ASN1_IA5STRING* value = name->d.uniformResourceIdentifier;
  const std::string uri(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                        static_cast<size_t>(ASN1_STRING_length(value)));
  const std::string prefix = kAuthorityPrefix;
  const std::string suffix = kAuthoritySuffix;
  if (uri.size() <= prefix.size() + suffix.size() || uri.compare(0, prefix.size(), prefix) != 0 ||
      uri.compare(uri.size() - suffix.size(), suffix.size(), suffix) != 0) {
    return "";
  }
  return uri.substr(prefix.size(), uri.size() - prefix.size() - suffix.size());
}

// One of the authority's two certificates.
absl::StatusOr<Certificate> SelfSigned(EVP_PKEY* key, const char* common_name,
                                       const std::string& job_id) {
  TONY_ASSIGN_OR_RETURN(Certificate certificate, NewCertificate(key, common_name));
  X509* const raw = certificate.get();
  const Bytes identifier = DigestOfKey(raw);
  if (X509_set_issuer_name(raw, X509_get_subject_name(raw)) != 1 ||
      !AddBasicConstraints(raw, true) || !AddKeyUsage(raw, kKeyCertSign) ||
      !AddExtension(raw, NID_subject_key_identifier, identifier.get(), false) ||
      !AddAlternativeNames(raw, absl::StrCat(kAuthorityPrefix, job_id, kAuthoritySuffix), "") ||
      X509_sign(raw, key, EVP_sha256()) == 0) {
    return OpenSslError("sign the authority's certificate");
  }
  return certificate;
}

}  // namespace

struct CertificateAuthority::Keys {
  Key key;
  Certificate servers;
  Certificate clients;
  std::string servers_pem;
  std::string clients_pem;
};

absl::StatusOr<CertificateAuthority> CertificateAuthority::Create(const std::string& job_id) {
  SetUpTls();
  TONY_RETURN_IF_ERROR(ClientRole(job_id).ToUri().status());  // checks that the id is well formed
  TONY_ASSIGN_OR_RETURN(const Key key, NewKey());
  TONY_ASSIGN_OR_RETURN(const Certificate servers, SelfSigned(key.get(), kServers, job_id));
  TONY_ASSIGN_OR_RETURN(const Certificate clients, SelfSigned(key.get(), kClients, job_id));
  TONY_ASSIGN_OR_RETURN(const std::string servers_pem, tony::rpc::ToPem(servers.get()));
  TONY_ASSIGN_OR_RETURN(const std::string clients_pem, tony::rpc::ToPem(clients.get()));
  TONY_ASSIGN_OR_RETURN(const std::string key_pem, tony::rpc::ToPem(key.get()));
  return Load(servers_pem + clients_pem + key_pem);
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Load(const std::string& pem) {
  SetUpTls();
  const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  Certificate servers(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  Certificate clients(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  Key key(PEM_read_bio_PrivateKey(memory.get(), nullptr, nullptr, nullptr));
  if (servers == nullptr || clients == nullptr || key == nullptr ||
      X509_check_private_key(servers.get(), key.get()) != 1 ||
      X509_check_private_key(clients.get(), key.get()) != 1) {
    ERR_clear_error();
    return absl::InvalidArgumentError("the text holds no certificate authority with its key");
  }
  CertificateAuthority authority;
  authority.job_id_ = JobIdOf(servers.get());
  if (authority.job_id_.empty() || JobIdOf(clients.get()) != authority.job_id_) {
    return absl::InvalidArgumentError("the certificates are not those of a job's authority");
  }
  TONY_ASSIGN_OR_RETURN(std::string servers_pem, tony::rpc::ToPem(servers.get()));
  TONY_ASSIGN_OR_RETURN(std::string clients_pem, tony::rpc::ToPem(clients.get()));
  authority.pem_ = pem;
  authority.keys_ = std::make_shared<const Keys>(Keys{.key = std::move(key),
                                                      .servers = std::move(servers),
                                                      .clients = std::move(clients),
                                                      .servers_pem = std::move(servers_pem),
                                                      .clients_pem = std::move(clients_pem)});
  return authority;
}

absl::StatusOr<Credentials> CertificateAuthority::Issue(const Role& role) const {
  TONY_ASSIGN_OR_RETURN(const std::string uri, role.ToUri());
  if (role.job_id != job_id_) {
    return absl::InvalidArgumentError(
        absl::StrCat("the authority of job ", job_id_, " cannot speak for job ", role.job_id));
  }
  // The role decides which of the two names signs the certificate; the credentials then trust the
  // other name (see the header).
  const bool server = role.kind == RoleKind::kApplicationMaster;
  TONY_ASSIGN_OR_RETURN(const Key key, NewKey());
  TONY_ASSIGN_OR_RETURN(const Certificate certificate, NewCertificate(key.get(), "tony"));
  X509* const raw = certificate.get();
  const X509* const issuer = server ? keys_->servers.get() : keys_->clients.get();
  if (X509_set_issuer_name(raw, X509_get_subject_name(issuer)) != 1 ||
      !AddBasicConstraints(raw, false) || !AddKeyUsage(raw, kDigitalSignature) ||
      !AddPurposesOf(role.kind, raw) ||
      !AddAlternativeNames(raw, uri, server ? kApplicationMasterName : "") ||
      !AddAuthorityKeyIdentifier(raw, issuer) ||
      X509_sign(raw, keys_->key.get(), EVP_sha256()) == 0) {
    return OpenSslError("sign a certificate");
  }
  Credentials credentials{.ca_pem = server ? keys_->clients_pem : keys_->servers_pem};
  TONY_ASSIGN_OR_RETURN(credentials.certificate_pem, tony::rpc::ToPem(raw));
  TONY_ASSIGN_OR_RETURN(credentials.key_pem, tony::rpc::ToPem(key.get()));
  return credentials;
}

}  // namespace tony::rpc
