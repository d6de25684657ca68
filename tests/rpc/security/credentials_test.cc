// The file in which credentials are handed over.
#include "rpc/security/credentials.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "os/files/files.h"
#include "rpc/security/certificate_authority.h"
#include "tests/os/temporary_folder.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  os::TemporaryFolder folder_;
  const std::string path_ = folder_ / "client.pem";
  const Credentials credentials_ =
      CertificateAuthority::Create("job-1").value().Issue(ClientRole("job-1")).value();
};

TEST_F(CredentialsTest, LoadsWhatWasSavedToAFileOfMode600) {
  ASSERT_TRUE(os::WriteFileAtomically(path_, FormatCredentials(credentials_)).ok());
  EXPECT_EQ(os::ModeOf(path_), 0600u);
  EXPECT_EQ(LoadCredentials(path_).value(), credentials_);
}

TEST_F(CredentialsTest, RefusesAFileThatOthersMayRead) {
  ASSERT_TRUE(os::WriteFileAtomically(path_, FormatCredentials(credentials_)).ok());
  for (mode_t mode : {0640, 0604, 0620, 0601}) {
    ASSERT_EQ(::chmod(path_.c_str(), mode), 0);
    const absl::Status status = LoadCredentials(path_).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    EXPECT_THAT(std::string(status.message()), HasSubstr("chmod 600"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  }
}

TEST_F(CredentialsTest, SaysThatAFileIsMissing) {
  EXPECT_EQ(LoadCredentials(path_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(CredentialsTest, RefusesATruncatedOrExtendedFile) {
  ASSERT_TRUE(os::WriteFileAtomically(path_, FormatCredentials(credentials_)).ok());
  const std::string whole = ReadSecretFile(path_).value();
  for (const std::string& text :
       {std::string(), whole.substr(0, whole.size() / 2), whole.substr(1), whole + "more"}) {
    os::Put(path_, text);
    EXPECT_EQ(LoadCredentials(path_).status().code(), absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace tony::rpc
