// Delegation tokens of the ResourceManager: the right to speak with it where there is no ticket.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "hadoop/auth/token.h"
#include "hadoop/rpc/blocking_rpc.h"

// All of them take a client of kApplicationClient, and have the codes of RpcClient::Call. Those of
// HDFS are WebHdfs'.
namespace tony::hadoop {

/// A token of the user who authenticated by Kerberos (Unknown – the user did not), which `renewer`,
/// a principal or a short name, may renew.
absl::StatusOr<Token> GetResourceManagerToken(BlockingRpcClient& client, const std::string& renewer,
                                              Duration timeout);
/// When it then ends, in milliseconds since 1970. PermissionDenied – the user is not its renewer.
absl::StatusOr<int64_t> RenewResourceManagerToken(BlockingRpcClient& client, const Token& token,
                                                  Duration timeout);
/// Nobody can use it after that.
absl::Status CancelResourceManagerToken(BlockingRpcClient& client, const Token& token,
                                        Duration timeout);

}  // namespace tony::hadoop
