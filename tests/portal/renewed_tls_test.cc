// Certificates that change while the portal serves them.
#include "portal/renewed_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>

#include "os/files/files.h"
#include "rpc/security/certificate_authority.h"
#include "tests/common/loop_driver.h"
#include "tests/os/temporary_folder.h"
#include "tests/rpc/security/tls_peer.h"

namespace tony::portal {
namespace {

using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kPause{2};

rpc::Credentials MakePair() {
  const auto authority = rpc::CertificateAuthority::Create("job-1").value();
  return authority.Issue(rpc::ClientRole("job-1")).value();
}

class RenewedTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Put(MakePair());
    tls_ = RenewedTls::Open(driver_.loop(), certificate_, key_, kPause).value();
  }
  void Put(const rpc::Credentials& pair) {
    ASSERT_TRUE(os::WriteFileAtomically(certificate_, pair.certificate_pem).ok());
    ASSERT_TRUE(os::WriteFileAtomically(key_, pair.key_pem).ok());
  }
  /// What a new connection is shown.
  std::string Shown() {
    rpc::TlsPeer peer;
    const std::unique_ptr<ByteStream> stream = tls_->Wrap(peer.servers_end());
    EXPECT_TRUE(peer.ShakeHands(*stream));
    return peer.ServersCertificate();
  }
  /// Lets the loop go on until so many looks may have been taken.
  void GoOn(int looks) {
    bool over = false;
    const auto timer = driver_.loop().After(kPause * looks, [&] {
      over = true;
      driver_.Changed();
    });
    EXPECT_TRUE(driver_.Await([&] { return over; }));
  }
  bool AwaitAnother(const std::string& than) {
    for (int i = 0; i < 5000; ++i) {
      if (Shown() != than) return true;
      GoOn(1);
    }
    return false;
  }

  os::TemporaryFolder folder_;
  const std::string certificate_ = folder_ / "certificate.pem";
  const std::string key_ = folder_ / "key.pem";
  LoopDriver driver_;
  std::unique_ptr<RenewedTls> tls_;
};

TEST_F(RenewedTlsTest, NewConnectionsGetTheNewCertificateAndOldOnesGoOn) {
  rpc::TlsPeer old;
  const std::unique_ptr<ByteStream> stream = tls_->Wrap(old.servers_end());
  ASSERT_TRUE(old.ShakeHands(*stream));
  const std::string first = Shown();
  EXPECT_FALSE(first.empty());
  Put(MakePair());
  EXPECT_TRUE(AwaitAnother(first));
  ASSERT_EQ(stream->Write("x", 1).state, IoResult::State::kMoved);
  char byte = 0;
  EXPECT_EQ(SSL_read(old.ssl(), &byte, 1), 1);
}

TEST_F(RenewedTlsTest, ABrokenPairIsSaidAndNotTaken) {
  const std::string first = Shown();
  ASSERT_TRUE(os::WriteFileAtomically(key_, MakePair().key_pem).ok());
  testing::internal::CaptureStdout();
  std::string said;
  for (int i = 0; i < 5000 && said.empty(); ++i) {
    GoOn(1);
    said = testing::internal::GetCapturedStdout();
    testing::internal::CaptureStdout();
  }
  GoOn(10);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "") << "it is said once";
  EXPECT_THAT(said, HasSubstr("keeps the certificate that it has"));
  EXPECT_THAT(said, HasSubstr("the key is not the certificate's"));
  EXPECT_EQ(Shown(), first);
  // The next pair is taken again.
  Put(MakePair());
  EXPECT_TRUE(AwaitAnother(first));
}

TEST_F(RenewedTlsTest, FilesThatAreGoneForAWhileChangeNothing) {
  const std::string first = Shown();
  ASSERT_EQ(::unlink(key_.c_str()), 0);
  GoOn(10);
  EXPECT_EQ(Shown(), first);
  Put(MakePair());
  EXPECT_TRUE(AwaitAnother(first));
}

/// No file can be opened while this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoDescriptors() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

TEST_F(RenewedTlsTest, WhatCouldNotBeReadForAWhileIsReadLater) {
  const std::string first = Shown();
  Put(MakePair());
  testing::internal::CaptureStdout();
  {
    const NoDescriptors none;
    GoOn(50);
  }
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, HasSubstr("cannot read its renewed certificate, and tries again"));
  EXPECT_EQ(said.find("tries again"), said.rfind("tries again")) << "it is said once: " << said;
  EXPECT_TRUE(AwaitAnother(first)) << "although the files have stayed the same";
}

}  // namespace
}  // namespace tony::portal
