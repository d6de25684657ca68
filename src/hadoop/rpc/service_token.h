// Chooses the token for a service from a token file that may hold tokens for several clusters.
#pragma once

#include <string>
#include <vector>

#include "hadoop/auth/token_file.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

/// The token of `kind` in `tokens` that is meant for the service at `servers`, or null. The only
/// one of its kind is taken whatever its service is called, since a host may have several names and
/// addresses. Among several, the one whose service is `name`, or has one of the servers by name or
/// address, "HOST:PORT" or several of these with commas. The latter looks names up, and blocks.
const Token* FindServiceToken(const TokenStore& tokens, const std::string& kind,
                              const std::vector<Endpoint>& servers, const std::string& name);

}  // namespace tony::hadoop
