// Each function is one call of ApplicationClientProtocol: getDelegationToken, renewDelegationToken,
// cancelDelegationToken.
#include "hadoop/rpc/delegation_tokens.h"

#include "common/status_macros.h"
#include "hadoop/auth/token_message.h"
#include "hadoop/common/security.pb.h"

namespace tony::hadoop {
namespace {

namespace wire = ::hadoop::common;

}  // namespace

absl::StatusOr<Token> GetResourceManagerToken(BlockingRpcClient& client, const std::string& renewer,
                                              Duration timeout) {
  wire::GetDelegationTokenRequestProto request;
  request.set_renewer(renewer);
  TONY_ASSIGN_OR_RETURN(const auto response, client.Call<wire::GetDelegationTokenResponseProto>(
                                                 "getDelegationToken", request, timeout));
  return TokenOf(response.token());
}

absl::StatusOr<int64_t> RenewResourceManagerToken(BlockingRpcClient& client, const Token& token,
                                                  Duration timeout) {
  wire::RenewDelegationTokenRequestProto request;
  *request.mutable_token() = MessageOf(token);
  TONY_ASSIGN_OR_RETURN(const auto response, client.Call<wire::RenewDelegationTokenResponseProto>(
                                                 "renewDelegationToken", request, timeout));
  return static_cast<int64_t>(response.newexpirytime());
}

absl::Status CancelResourceManagerToken(BlockingRpcClient& client, const Token& token,
                                        Duration timeout) {
  wire::CancelDelegationTokenRequestProto request;
  *request.mutable_token() = MessageOf(token);
  return client
      .Call<wire::CancelDelegationTokenResponseProto>("cancelDelegationToken", request, timeout)
      .status();
}

}  // namespace tony::hadoop
