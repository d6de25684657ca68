// Delegation tokens of the ResourceManager: they authenticate a process that has no Kerberos
// ticket.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "hadoop/auth/token.h"
#include "hadoop/rpc/blocking_rpc.h"

// Each function takes a client of the protocol kApplicationClient and returns the codes of
// RpcClient::Call. Delegation tokens of HDFS are handled by WebHdfs.
namespace tony::hadoop {

/// Gets a token for the user who authenticated by Kerberos. `renewer`, a principal or a short name,
/// may renew it. Unknown – the user did not authenticate by Kerberos.
absl::StatusOr<Token> GetResourceManagerToken(BlockingRpcClient& client, const std::string& renewer,
                                              Duration timeout);
/// Renews `token` and returns its new expiry time, in milliseconds since 1970. PermissionDenied –
/// the user is not the token's renewer.
absl::StatusOr<int64_t> RenewResourceManagerToken(BlockingRpcClient& client, const Token& token,
                                                  Duration timeout);
/// Cancels `token`: nobody can use it afterwards.
absl::Status CancelResourceManagerToken(BlockingRpcClient& client, const Token& token,
                                        Duration timeout);

}  // namespace tony::hadoop
