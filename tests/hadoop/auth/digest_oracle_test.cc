// DIGEST-MD5 against libgsasl's server.
#include <gtest/gtest.h>

#include "common/big_endian.h"
#include "hadoop/auth/digest_md5.h"

#ifdef TONY_HAS_GSASL
#include <gsasl.h>
#endif

namespace tony::hadoop {
namespace {

#ifdef TONY_HAS_GSASL

constexpr char kPassword[] = "cGFzc3dvcmQ=";
constexpr size_t kLengthBytes = 4;  // in front of protected messages, which Hadoop leaves out

/// A server of libgsasl; the test sets its offer. Not thread safe.
class GsaslServer {
 public:
  explicit GsaslServer(const char* protections) : protections_(protections) {
    EXPECT_EQ(gsasl_init(&library_), GSASL_OK);
    gsasl_callback_hook_set(library_, this);
    gsasl_callback_set(library_, Callback);
    EXPECT_EQ(gsasl_server_start(library_, "DIGEST-MD5", &session_), GSASL_OK);
  }
  ~GsaslServer() {
    gsasl_finish(session_);
    gsasl_done(library_);
  }

  std::string Step(const std::string& input) {
    char* output = nullptr;
    size_t size = 0;
    result_ = gsasl_step(session_, input.data(), input.size(), &output, &size);
    return Take(output, size);
  }
  bool refused() const { return result_ != GSASL_OK && result_ != GSASL_NEEDS_MORE; }

  std::string Wrap(const std::string& plain) {
    char* output = nullptr;
    size_t size = 0;
    EXPECT_EQ(gsasl_encode(session_, plain.data(), plain.size(), &output, &size), GSASL_OK);
    return Take(output, size).substr(kLengthBytes);
  }
  std::string Unwrap(const std::string& wrapped) {
    const std::string framed = BigEndian(static_cast<uint32_t>(wrapped.size())) + wrapped;
    char* output = nullptr;
    size_t size = 0;
    EXPECT_EQ(gsasl_decode(session_, framed.data(), framed.size(), &output, &size), GSASL_OK);
    return Take(output, size);
  }

 private:
  static int Callback(Gsasl* library, Gsasl_session* session, Gsasl_property property) {
    auto* const self = static_cast<GsaslServer*>(gsasl_callback_hook_get(library));
    const char* const value = property == GSASL_PASSWORD ? kPassword
                              : property == GSASL_REALM  ? "default"
                              : property == GSASL_QOPS   ? self->protections_
                                                         : nullptr;
    if (value == nullptr) return GSASL_NO_CALLBACK;
    gsasl_property_set(session, property, value);
    return GSASL_OK;
  }

  static std::string Take(char* output, size_t size) {
    std::string text(output == nullptr ? "" : output, output == nullptr ? 0 : size);
    gsasl_free(output);
    return text;
  }

  const char* protections_;
  Gsasl* library_ = nullptr;
  Gsasl_session* session_ = nullptr;
  int result_ = GSASL_OK;
};

DigestIdentity Identity() {
  return DigestIdentityOf({.identifier = "identifier", .password = "password"}, "", "default");
}

TEST(DigestOracle, AcceptsUsAndIsAcceptedUnderEachProtection) {
  for (const auto& [protections, expected] : {std::pair("qop-auth", Protection::kAuthentication),
                                              {"qop-auth, qop-int", Protection::kIntegrity}}) {
    GsaslServer server(protections);
    DigestMd5 client(Identity());
    const auto answer = client.Start(server.Step(""));
    ASSERT_TRUE(answer.ok()) << answer.status();
    const std::string proof = server.Step(*answer);
    ASSERT_FALSE(server.refused()) << protections;
    ASSERT_TRUE(client.Finish(proof).ok()) << proof;
    server.Step("");
    EXPECT_EQ(client.protection(), expected);
    if (expected != Protection::kIntegrity) continue;
    for (const size_t size : {0, 1, 100, 10'000}) {
      const std::string message(size, 'm');
      EXPECT_EQ(server.Unwrap(*client.Wrap(message)), message);
      EXPECT_EQ(*client.Unwrap(server.Wrap(message)), message);
    }
  }
}

TEST(DigestOracle, RefusesAnotherPassword) {
  GsaslServer server("qop-auth");
  DigestIdentity identity = Identity();
  identity.password = "another";
  DigestMd5 client(identity);
  const auto answer = client.Start(server.Step(""));
  ASSERT_TRUE(answer.ok());
  server.Step(*answer);
  EXPECT_TRUE(server.refused());
}

#else

TEST(DigestOracle, AcceptsUsAndIsAcceptedUnderEachProtection) {
  GTEST_SKIP() << "libgsasl was not there when this was built; scripts/setup installs it";
}

#endif

}  // namespace
}  // namespace tony::hadoop
