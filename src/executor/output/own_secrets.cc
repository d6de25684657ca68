// A filter by token kind and by secret name; the file is rewritten in place of the old one before
// the program starts.
#include "executor/output/own_secrets.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tony::executor {
namespace {

constexpr char kOwnSecrets[] = "tony.";

absl::Status Rewrite(const std::string& path, const std::string& credentials_secret) {
  TONY_ASSIGN_OR_RETURN(const hadoop::TokenStore store, hadoop::ReadTokenFile(path));
  return hadoop::WriteTokenFile(path, ForProgram(store, credentials_secret),
                                hadoop::TokenFormat::kWritable);
}

}  // namespace

hadoop::TokenStore ForProgram(const hadoop::TokenStore& store,
                              const std::string& credentials_secret) {
  hadoop::TokenStore result;
  for (const auto& [name, token] : store.tokens) {
    if (token.kind == hadoop::kAmRmToken || token.kind == hadoop::kNodeManagerToken) continue;
    result.tokens.emplace_back(name, token);
  }
  for (const auto& [name, secret] : store.secrets) {
    if (name == credentials_secret || absl::StartsWith(name, kOwnSecrets)) continue;
    result.secrets.emplace_back(name, secret);
  }
  return result;
}

absl::Status RemoveOwnSecrets(const std::string& path, const std::string& credentials_secret) {
  return Annotate(Rewrite(path, credentials_secret),
                  "tony's secrets cannot be taken out of the token file that the program sees");
}

}  // namespace tony::executor
