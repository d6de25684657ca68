// Tests which protection Kerberos negotiates, with a library that wraps nothing. cluster_test.py
// uses the real library and servers.
#include "hadoop/auth/kerberos.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hadoop/auth/gssapi_library.h"

namespace tony::hadoop {
namespace {

using ::testing::HasSubstr;

void Give(const char* bytes, size_t size, gss_buffer_t buffer) {
  buffer->value = std::malloc(size);
  buffer->length = size;
  std::memcpy(buffer->value, bytes, size);
}

/// A context that stands at once. `Encrypts`: whether it can.
template <bool Encrypts>
GssapiLibrary Library() {
  GssapiLibrary library{};
  library.import_name = [](OM_uint32*, gss_buffer_t, gss_OID, gss_name_t*) -> OM_uint32 {
    return GSS_S_COMPLETE;
  };
  library.init_sec_context = [](OM_uint32*, gss_cred_id_t, gss_ctx_id_t*, gss_name_t, gss_OID,
                                OM_uint32, OM_uint32, gss_channel_bindings_t, gss_buffer_t,
                                gss_OID*, gss_buffer_t, OM_uint32* granted,
                                OM_uint32*) -> OM_uint32 {
    *granted = GSS_C_MUTUAL_FLAG | (Encrypts ? GSS_C_CONF_FLAG : 0);
    return GSS_S_COMPLETE;
  };
  library.release_buffer = [](OM_uint32*, gss_buffer_t buffer) -> OM_uint32 {
    std::free(buffer->value);
    return GSS_S_COMPLETE;
  };
  library.wrap = [](OM_uint32*, gss_ctx_id_t, int encrypt, gss_qop_t, gss_buffer_t in,
                    int* encrypted, gss_buffer_t out) -> OM_uint32 {
    Give(static_cast<const char*>(in->value), in->length, out);
    *encrypted = encrypt;
    return GSS_S_COMPLETE;
  };
  library.unwrap = [](OM_uint32*, gss_ctx_id_t, gss_buffer_t in, gss_buffer_t out, int* encrypted,
                      gss_qop_t*) -> OM_uint32 {
    Give(static_cast<const char*>(in->value), in->length, out);
    *encrypted = 1;
    return GSS_S_COMPLETE;
  };
  library.wrap_size_limit = [](OM_uint32*, gss_ctx_id_t, int, gss_qop_t, OM_uint32 most,
                               OM_uint32* limit) -> OM_uint32 {
    *limit = most;
    return GSS_S_COMPLETE;
  };
  return library;
}

RequiredProtection Required(Protection minimum) {
  return {minimum, absl::StrCat("hadoop.rpc.protection = ", ProtectionName(minimum), " (F:1)")};
}

/// The answer to a server that offers the layers whose bits are in `layers`.
absl::StatusOr<std::string> AnswerTo(char layers, const GssapiLibrary& library,
                                     Protection minimum) {
  const auto mechanism = MakeKerberosMechanism(library, "rm/host", Required(minimum));
  EXPECT_TRUE(mechanism->Start("").ok());
  return mechanism->Answer({layers, 0, 1, 0});
}

TEST(Kerberos, TakesTheStrongestThatIsOffered) {
  const GssapiLibrary library = Library<true>();
  for (const auto& [offered, chosen] : {std::pair(7, 4), {3, 2}, {1, 1}, {5, 4}}) {
    const auto answer = AnswerTo(static_cast<char>(offered), library, Protection::kAuthentication);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(answer->front(), chosen);
  }
  EXPECT_EQ(AnswerTo(7, Library<false>(), Protection::kAuthentication)->front(), 2);
  EXPECT_TRUE(absl::IsUnimplemented(AnswerTo(8, library, Protection::kAuthentication).status()));
}

TEST(Kerberos, TakesNoLessThanIsRequired) {
  const GssapiLibrary library = Library<true>();
  const std::tuple<char, Protection, const char*> refused[] = {
      {1, Protection::kIntegrity,
       "offers only authentication, less than hadoop.rpc.protection = "
       "integrity (F:1) asks for"},
      {1, Protection::kPrivacy, "offers only authentication, less than"},
      {3, Protection::kPrivacy, "offers only integrity, authentication, less than"}};
  for (const auto& [layers, minimum, words] : refused) {
    const absl::Status status = AnswerTo(layers, library, minimum).status();
    EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  EXPECT_EQ(AnswerTo(3, library, Protection::kIntegrity)->front(), 2);
  EXPECT_EQ(AnswerTo(7, library, Protection::kPrivacy)->front(), 4);
  EXPECT_TRUE(
      absl::IsPermissionDenied(AnswerTo(7, Library<false>(), Protection::kPrivacy).status()));
}

}  // namespace
}  // namespace tony::hadoop
