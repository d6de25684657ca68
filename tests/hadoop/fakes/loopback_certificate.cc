// A mount namespace of the calling thread hides the machine's authorities behind the certificate.
#include "tests/hadoop/fakes/loopback_certificate.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sched.h>
#include <sys/mount.h>

#include <thread>

#include "http/curl_library.h"
#include "tests/os/temporary_folder.h"

namespace tony::hadoop {

LoopbackCertificate::LoopbackCertificate() : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
  constexpr long kDay = 86400;
  X509_set_version(certificate_, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate_), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate_), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate_), kDay);
  X509_NAME* const name = X509_get_subject_name(certificate_);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate_, name);
  X509_set_pubkey(certificate_, key_);
  AddExtension(NID_subject_alt_name, "IP:127.0.0.1");
  AddExtension(NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_, key_, EVP_sha256());
}

LoopbackCertificate::~LoopbackCertificate() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

void LoopbackCertificate::Write(const std::string& path) const {
  FILE* const file = fopen(path.c_str(), "w");
  PEM_write_X509(file, certificate_);
  fclose(file);
}

void LoopbackCertificate::Use(SSL_CTX* context) const {
  SSL_CTX_use_certificate(context, certificate_);
  SSL_CTX_use_PrivateKey(context, key_);
}

void LoopbackCertificate::AddExtension(int kind, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value);
  X509_add_ext(certificate_, extension, -1);
  X509_EXTENSION_free(extension);
}

bool RunTrusting(const LoopbackCertificate& certificate, const std::function<void()>& work) {
  const auto library = http::CurlLibrary::Load();
  const char* const authorities =
      library.ok() ? (*library)->version_info(CURLVERSION_NOW)->cainfo : nullptr;
  if (authorities == nullptr) return false;
  const os::TemporaryFolder folder;
  certificate.Write(folder / "authority.pem");
  bool allowed = false;
  std::thread([&] {
    allowed =
        unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount((folder / "authority.pem").c_str(), authorities, nullptr, MS_BIND, nullptr) == 0;
    if (allowed) work();
  }).join();
  return allowed;
}

}  // namespace tony::hadoop
