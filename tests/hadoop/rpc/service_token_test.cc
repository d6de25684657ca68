// Tests which of several tokens a service gets.
#include "hadoop/rpc/service_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tony::hadoop {
namespace {

TokenStore Tokens(const std::vector<std::pair<std::string, std::string>>& kinds_and_services) {
  TokenStore store;
  for (const auto& [kind, service] : kinds_and_services) {
    store.tokens.emplace_back(
        service, Token{.identifier = "i", .password = "p", .kind = kind, .service = service});
  }
  return store;
}

std::string Chosen(const TokenStore& tokens, const std::string& name = "") {
  const Token* const token =
      FindServiceToken(tokens, "K", {{"127.0.0.1", 8020}, {"localhost", 8021}}, name);
  return token == nullptr ? "none" : token->service;
}

TEST(FindServiceToken, TheOnlyOneOfItsKindIsTaken) {
  EXPECT_EQ(Chosen(Tokens({{"K", "10.9.9.9:1"}, {"L", "127.0.0.1:8020"}})), "10.9.9.9:1");
  EXPECT_EQ(Chosen(Tokens({{"L", "127.0.0.1:8020"}})), "none");
}

TEST(FindServiceToken, AmongSeveralTheServiceDecides) {
  EXPECT_EQ(Chosen(Tokens({{"K", "a:1"}, {"K", "127.0.0.1:8020"}})), "127.0.0.1:8020");
  EXPECT_EQ(Chosen(Tokens({{"K", "a:1"}, {"K", "127.0.0.1:8021"}})), "127.0.0.1:8021");
  EXPECT_EQ(Chosen(Tokens({{"K", "a:1"}, {"K", "localhost:8021"}})), "localhost:8021");
  EXPECT_EQ(Chosen(Tokens({{"K", "a:1"}, {"K", "b:2,127.0.0.1:8020"}})), "b:2,127.0.0.1:8020");
  EXPECT_EQ(Chosen(Tokens({{"K", "a:1"}, {"K", "ha-hdfs:n"}}), "ha-hdfs:n"), "ha-hdfs:n");
  EXPECT_EQ(Chosen(Tokens({{"K", "a:1"}, {"K", "b:2"}})), "none");
}

}  // namespace
}  // namespace tony::hadoop
