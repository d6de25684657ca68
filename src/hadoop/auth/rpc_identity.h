// As whom a connection speaks.
#pragma once

#include <optional>
#include <string>

#include "hadoop/auth/rpc_protection.h"
#include "hadoop/auth/token.h"

namespace tony::hadoop {

/// With a token it is used, otherwise Kerberos where that is asked for; with neither the server is
/// told a name and believes it.
struct RpcIdentity {
  std::string user;            ///< the name that is told
  std::optional<Token> token;  ///< DIGEST-MD5
  bool kerberos = false;       ///< GSSAPI with the ticket in the user's credential cache
  /// With Kerberos: who the server has to be, "rm/HOST@REALM", where "_HOST" stands for the host
  /// that is connected to. Empty: whom the server says it is.
  std::string server_principal;
  /// Of connections that authenticate: the least protection, or there is none.
  RequiredProtection protection;

  bool authenticates() const { return token.has_value() || kerberos; }
};

}  // namespace tony::hadoop
