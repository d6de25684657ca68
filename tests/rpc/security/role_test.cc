// Roles as URIs.
#include "rpc/security/role.h"

#include "gtest/gtest.h"

namespace tony::rpc {
namespace {

TEST(RoleTest, WritesAndReadsEachKind) {
  const std::pair<Role, std::string> cases[] = {
      {ClientRole("job-1"), "tony://job-1/client"},
      {ApplicationMasterRole("job-1"), "tony://job-1/am"},
      {ExecutorRole("job-1", "job-1-c0001"), "tony://job-1/executor/job-1-c0001"},
  };
  for (const auto& [role, uri] : cases) {
    EXPECT_EQ(role.ToUri().value(), uri);
    EXPECT_EQ(Role::FromUri(uri).value(), role) << uri;
  }
}

TEST(RoleTest, RefusesMalformedUris) {
  for (const std::string uri :
       {"", "tony://", "tony:///client", "tony://job", "tony://job/", "tony://job/authority",
        "tony://job/client/", "tony://job/client/extra", "tony://job/am/c1", "tony://job/executor",
        "tony://job/executor/", "tony://job/executor/a/b", "tony://job/executor/a b",
        "TONY://job/client", "http://job/client", "tony://a%2fb/client", "tony://job/Client"}) {
    EXPECT_EQ(Role::FromUri(uri).status().code(), absl::StatusCode::kInvalidArgument) << uri;
  }
}

TEST(RoleTest, RefusesIdsThatCouldBeTakenForSomethingElse) {
  EXPECT_FALSE(ClientRole("").ToUri().ok());
  EXPECT_FALSE(ClientRole("job/executor/x").ToUri().ok());
  EXPECT_FALSE(ClientRole(std::string("job\0x", 5)).ToUri().ok());
  EXPECT_FALSE(ExecutorRole("job", "").ToUri().ok());
  EXPECT_FALSE(ExecutorRole("job", "../am").ToUri().ok());
  Role client = ClientRole("job");
  client.container_id = "c1";
  EXPECT_FALSE(client.ToUri().ok());
}

}  // namespace
}  // namespace tony::rpc
