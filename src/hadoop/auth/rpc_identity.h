// The identity with which a client connects to Hadoop's RPC servers.
#pragma once

#include <optional>
#include <string>

#include "hadoop/auth/rpc_protection.h"
#include "hadoop/auth/token.h"

namespace tony::hadoop {

/// The identity of a connection. A token comes first, then Kerberos. With neither, the client sends
/// `user` and the server believes it. A plain value.
struct RpcIdentity {
  std::string user;            ///< the user's name, sent on every connection
  std::optional<Token> token;  ///< authenticates by DIGEST-MD5
  bool kerberos = false;       ///< authenticates by GSSAPI with the ticket in the credential cache
  /// The principal that the server must have with Kerberos, "rm/HOST@REALM"; "_HOST" stands for the
  /// host that the client connects to. Empty: the principal that the server names is trusted.
  std::string server_principal;
  /// The least protection of a connection that authenticates. Weaker offers fail the connection.
  RequiredProtection protection;

  bool authenticates() const { return token.has_value() || kerberos; }
};

}  // namespace tony::hadoop
