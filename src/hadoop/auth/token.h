// A Hadoop token: it authenticates its holder to one service, without Kerberos.
#pragma once

#include <string>

namespace tony::hadoop {

// Values of Token::kind.
inline constexpr char kAmRmToken[] = "YARN_AM_RM_TOKEN";
inline constexpr char kNodeManagerToken[] = "NMToken";
inline constexpr char kResourceManagerDelegationToken[] = "RM_DELEGATION_TOKEN";
inline constexpr char kHdfsDelegationToken[] = "HDFS_DELEGATION_TOKEN";
inline constexpr char kWebHdfsDelegationToken[] = "WEBHDFS delegation";

/// A token. It is secret as a whole: whoever has identifier and password can use it. Both are
/// bytes, not text. A plain value.
struct Token {
  std::string identifier;
  std::string password;
  std::string kind;
  std::string service;  ///< the service that accepts it: "IP:port", "ha-hdfs:NAME", or empty

  friend bool operator==(const Token&, const Token&) = default;
};

}  // namespace tony::hadoop
