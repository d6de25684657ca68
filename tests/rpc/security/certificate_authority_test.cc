// Tests the certificates of a job's authority with OpenSSL's own verifier.
#include "rpc/security/certificate_authority.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <ctime>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;

X509* ReadCertificate(const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  return certificate;
}

// X509_V_OK, or why `credentials` do not verify for `purpose` against `ca_pem`.
int Verify(const Credentials& credentials, const std::string& ca_pem, int purpose) {
  X509* authority = ReadCertificate(ca_pem);
  X509* certificate = ReadCertificate(credentials.certificate_pem);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, authority);
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, certificate, nullptr);
  X509_STORE_CTX_set_purpose(context, purpose);
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context), X509_V_FLAG_X509_STRICT);
  X509_verify_cert(context);
  const int result = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  X509_free(certificate);
  X509_free(authority);
  return result;
}

std::string SerialOf(const Credentials& credentials) {
  X509* certificate = ReadCertificate(credentials.certificate_pem);
  BIGNUM* number = ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr);
  char* text = BN_bn2hex(number);
  std::string serial = text;
  OPENSSL_free(text);
  BN_free(number);
  X509_free(certificate);
  return serial;
}

bool HasDnsName(const Credentials& credentials, const std::string& name) {
  X509* certificate = ReadCertificate(credentials.certificate_pem);
  const bool has = X509_check_host(certificate, name.data(), name.size(),
                                   X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
  X509_free(certificate);
  return has;
}

TEST(CertificateAuthorityTest, EachSideVerifiesTheOther) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const Credentials master = authority.Issue(ApplicationMasterRole("job-1")).value();
  const Credentials client = authority.Issue(ClientRole("job-1")).value();
  const Credentials executor = authority.Issue(ExecutorRole("job-1", "c1")).value();
  EXPECT_EQ(executor.ca_pem, client.ca_pem);
  EXPECT_EQ(Verify(master, client.ca_pem, X509_PURPOSE_SSL_SERVER), X509_V_OK);
  EXPECT_EQ(Verify(client, master.ca_pem, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
  EXPECT_EQ(Verify(executor, master.ca_pem, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST(CertificateAuthorityTest, ACertificateIsWorthNothingOnTheOtherSide) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const Credentials master = authority.Issue(ApplicationMasterRole("job-1")).value();
  const Credentials executor = authority.Issue(ExecutorRole("job-1", "c1")).value();
  const Credentials client = authority.Issue(ClientRole("job-1")).value();
  EXPECT_EQ(Verify(client, master.ca_pem, X509_PURPOSE_SSL_SERVER), X509_V_ERR_INVALID_PURPOSE);
  EXPECT_EQ(Verify(master, executor.ca_pem, X509_PURPOSE_SSL_CLIENT), X509_V_ERR_INVALID_PURPOSE);
  EXPECT_EQ(Verify(executor, executor.ca_pem, X509_PURPOSE_SSL_SERVER),
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
  EXPECT_EQ(Verify(master, master.ca_pem, X509_PURPOSE_SSL_CLIENT),
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
}

// Producers of data trust the name under which executors are certified, and no other peer does so
// of a server.
TEST(CertificateAuthorityTest, AnExecutorServesThoseWhoFeedItsTask) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const Credentials master = authority.Issue(ApplicationMasterRole("job-1")).value();
  const Credentials executor = authority.Issue(ExecutorRole("job-1", "c1")).value();
  EXPECT_EQ(Verify(executor, master.ca_pem, X509_PURPOSE_SSL_SERVER), X509_V_OK);
}

TEST(CertificateAuthorityTest, KeysAreWrittenAsOpenSslWritesThem) {
  const Credentials client =
      CertificateAuthority::Create("job-1")->Issue(ClientRole("job-1")).value();
  BIO* memory = BIO_new_mem_buf(client.key_pem.data(), static_cast<int>(client.key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  ASSERT_NE(key, nullptr);
  X509* certificate = ReadCertificate(client.certificate_pem);
  EXPECT_EQ(X509_check_private_key(certificate, key), 1);
  X509_free(certificate);
  BIO* written = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(written, key, nullptr, nullptr, 0, nullptr, nullptr);
  char* text = nullptr;
  const long size = BIO_get_mem_data(written, &text);
  EXPECT_EQ(client.key_pem, std::string(text, static_cast<size_t>(size)));
  BIO_free(written);
  EVP_PKEY_free(key);
}

TEST(CertificateAuthorityTest, OnlyTheMasterHasTheServersName) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  EXPECT_TRUE(
      HasDnsName(authority.Issue(ApplicationMasterRole("job-1")).value(), kApplicationMasterName));
  EXPECT_FALSE(HasDnsName(authority.Issue(ClientRole("job-1")).value(), kApplicationMasterName));
  EXPECT_FALSE(HasDnsName(authority.Issue(ExecutorRole("job-1", "am.tony")).value(),
                          kApplicationMasterName));
}

TEST(CertificateAuthorityTest, AnotherJobsAuthorityDoesNotVerify) {
  const CertificateAuthority ours = CertificateAuthority::Create("job-1").value();
  const CertificateAuthority theirs = CertificateAuthority::Create("job-1").value();
  const Credentials client = theirs.Issue(ClientRole("job-1")).value();
  const std::string our_ca = ours.Issue(ApplicationMasterRole("job-1")).value().ca_pem;
  EXPECT_NE(Verify(client, our_ca, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST(CertificateAuthorityTest, IssuesTheSameAfterLoading) {
  const CertificateAuthority created = CertificateAuthority::Create("job-1").value();
  const CertificateAuthority loaded = CertificateAuthority::Load(created.ToPem()).value();
  EXPECT_EQ(loaded.job_id(), "job-1");
  EXPECT_EQ(loaded.ToPem(), created.ToPem());
  const Credentials client = loaded.Issue(ClientRole("job-1")).value();
  EXPECT_EQ(client.ca_pem, created.Issue(ClientRole("job-1")).value().ca_pem);
  const std::string ca = created.Issue(ApplicationMasterRole("job-1")).value().ca_pem;
  EXPECT_EQ(Verify(client, ca, X509_PURPOSE_SSL_CLIENT), X509_V_OK);
}

TEST(CertificateAuthorityTest, RefusesToLoadWhatIsNoAuthority) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const Credentials client = authority.Issue(ClientRole("job-1")).value();
  const CertificateAuthority other = CertificateAuthority::Create("job-1").value();
  const std::string other_key = other.ToPem().substr(other.ToPem().find("-----BEGIN PRIVATE"));
  for (const std::string& pem :
       {std::string(), std::string("nonsense"), client.ca_pem, client.key_pem,
        client.certificate_pem + client.key_pem, client.ca_pem + other_key}) {
    EXPECT_EQ(CertificateAuthority::Load(pem).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST(CertificateAuthorityTest, RefusesRolesOfOtherJobsAndMalformedOnes) {
  EXPECT_FALSE(CertificateAuthority::Create("a/b").ok());
  EXPECT_FALSE(CertificateAuthority::Create("").ok());
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const absl::Status other = authority.Issue(ClientRole("job-2")).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), HasSubstr("job-2"));
  EXPECT_EQ(authority.Issue(ExecutorRole("job-1", "a/b")).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(CertificateAuthorityTest, ValidFromADayAgoForYears) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  const Credentials client = authority.Issue(ClientRole("job-1")).value();
  for (const std::string& pem : {client.certificate_pem, client.ca_pem}) {
    X509* certificate = ReadCertificate(pem);
    time_t early = time(nullptr) - 23 * 3600;
    time_t late = time(nullptr) + 9L * 365 * 24 * 3600;
    EXPECT_LT(X509_cmp_time(X509_get0_notBefore(certificate), &early), 0);
    EXPECT_GT(X509_cmp_time(X509_get0_notAfter(certificate), &late), 0);
    X509_free(certificate);
  }
}

TEST(CertificateAuthorityTest, SerialsAndKeysDiffer) {
  const CertificateAuthority authority = CertificateAuthority::Create("job-1").value();
  std::set<std::string> serials;
  std::set<std::string> keys;
  const auto start = std::chrono::steady_clock::now();
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) {
    const Credentials credentials =
        authority.Issue(ExecutorRole("job-1", "c" + std::to_string(i))).value();
    serials.insert(SerialOf(credentials));
    keys.insert(credentials.key_pem);
  }
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
  RecordProperty("microseconds_per_certificate", static_cast<int>(took.count() / kCount));
  EXPECT_EQ(serials.size(), kCount);
  EXPECT_EQ(keys.size(), kCount);
}

}  // namespace
}  // namespace tony::rpc
