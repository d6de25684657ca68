// Mutual TLS between a real gRPC server and real clients: who gets through, and as whom.
#include <memory>

#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "rpc/security/certificate_authority.h"
#include "rpc/security/grpc_credentials.h"
#include "rpc/security/peer_role.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

using ::testing::HasSubstr;

// Answers every call with the peer's role, or with the refusal that PeerRole() asks for.
class EchoRole : public v1::JobService::Service {
 public:
  grpc::Status Stop(grpc::ServerContext* context, const v1::StopRequest*,
                    v1::StopResponse*) override {
    const absl::StatusOr<Role> role = PeerRole(*context->auth_context(), "job-1");
    if (!role.ok()) {
      return grpc::Status(grpc::StatusCode::PERMISSION_DENIED,
                          std::string(role.status().message()));
    }
    context->AddTrailingMetadata("role", role->ToUri().value());
    return grpc::Status::OK;
  }
};

struct Answer {
  grpc::Status status;
  std::string role;
};

class SecureChannelTest : public ::testing::Test {
 protected:
  // Listens with `credentials` on a free port of 127.0.0.1.
  void Serve(const Credentials& credentials) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", MakeServerCredentials(credentials), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ASSERT_NE(port_, 0);
  }

  Answer Call(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    const auto channel = grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                                   credentials, MakeChannelArguments());
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::StopResponse response;
    Answer answer;
    answer.status = v1::JobService::NewStub(channel)->Stop(&context, {}, &response);
    const auto& metadata = context.GetServerTrailingMetadata();
    if (const auto found = metadata.find("role"); found != metadata.end()) {
      answer.role = std::string(found->second.data(), found->second.size());
    }
    return answer;
  }
  Answer Call(const Credentials& credentials) { return Call(MakeChannelCredentials(credentials)); }

  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown();
  }

  CertificateAuthority authority_ = CertificateAuthority::Create("job-1").value();
  Credentials master_ = authority_.Issue(ApplicationMasterRole("job-1")).value();
  Credentials client_ = authority_.Issue(ClientRole("job-1")).value();
  Credentials executor_ = authority_.Issue(ExecutorRole("job-1", "job-1-c0001")).value();
  EchoRole service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

TEST_F(SecureChannelTest, CertificatesOfTheJobAreAcceptedWithTheirRole) {
  Serve(master_);
  const Answer client = Call(client_);
  EXPECT_TRUE(client.status.ok()) << client.status.error_message();
  EXPECT_EQ(client.role, "tony://job-1/client");
  const Answer executor = Call(executor_);
  EXPECT_TRUE(executor.status.ok()) << executor.status.error_message();
  EXPECT_EQ(executor.role, "tony://job-1/executor/job-1-c0001");
}

TEST_F(SecureChannelTest, AForeignAuthorityIsRefusedByTheServer) {
  Serve(master_);
  Credentials foreign =
      CertificateAuthority::Create("job-1").value().Issue(ClientRole("job-1")).value();
  foreign.ca_pem = client_.ca_pem;  // so that it is the server who has to object
  EXPECT_EQ(Call(foreign).status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SecureChannelTest, AForeignServerIsRefusedByTheClient) {
  Credentials foreign =
      CertificateAuthority::Create("job-1").value().Issue(ApplicationMasterRole("job-1")).value();
  foreign.ca_pem = master_.ca_pem;
  Serve(foreign);
  EXPECT_EQ(Call(client_).status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SecureChannelTest, AnExecutorCannotPoseAsTheMaster) {
  Serve(executor_);
  EXPECT_EQ(Call(client_).status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SecureChannelTest, AClientWithoutCertificateIsRefused) {
  Serve(master_);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = client_.ca_pem;
  EXPECT_EQ(Call(grpc::SslCredentials(options)).status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Call(grpc::InsecureChannelCredentials()).status.error_code(),
            grpc::StatusCode::UNAVAILABLE);
}

TEST_F(SecureChannelTest, ACertificateForAnotherJobIsDenied) {
  // The server trusts, by mistake, the authority of another job.
  const CertificateAuthority other = CertificateAuthority::Create("job-2").value();
  Credentials server = master_;
  server.ca_pem += other.Issue(ApplicationMasterRole("job-2")).value().ca_pem;
  Serve(server);
  Credentials stranger = other.Issue(ClientRole("job-2")).value();
  stranger.ca_pem = client_.ca_pem;
  const Answer answer = Call(stranger);
  EXPECT_EQ(answer.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(answer.status.error_message(), HasSubstr("job-2"));
}

TEST(PeerRoleTest, AnUnauthenticatedPeerIsDenied) {
  // A connection without TLS has no such property at all.
  EchoRole service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto channel =
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  grpc::ClientContext context;
  v1::StopResponse response;
  const grpc::Status status = v1::JobService::NewStub(channel)->Stop(&context, {}, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  server->Shutdown();
}

}  // namespace
}  // namespace tony::rpc
