// A Hadoop token: the right to speak with a service, without Kerberos.
#pragma once

#include <string>

namespace tony::hadoop {

// Kinds of tokens, as they stand in Token::kind.
inline constexpr char kAmRmToken[] = "YARN_AM_RM_TOKEN";
inline constexpr char kNodeManagerToken[] = "NMToken";
inline constexpr char kResourceManagerDelegationToken[] = "RM_DELEGATION_TOKEN";
inline constexpr char kHdfsDelegationToken[] = "HDFS_DELEGATION_TOKEN";
inline constexpr char kWebHdfsDelegationToken[] = "WEBHDFS delegation";

/// A secret, as its identifier and its password together are the right. Both are bytes.
struct Token {
  std::string identifier;
  std::string password;
  std::string kind;
  std::string service;  ///< whom it is for: "IP:port", "ha-hdfs:NAME", or empty

  friend bool operator==(const Token&, const Token&) = default;
};

}  // namespace tony::hadoop
