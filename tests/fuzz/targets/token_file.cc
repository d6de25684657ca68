// A token file: of the cluster's services through YARN, or of the user.
//
// Besides not crashing: what was read is read again from what is written of it, in both formats
// and as text for URLs.
#include <google/protobuf/stubs/logging.h>

#include <string>

#include "absl/status/status.h"
#include "hadoop/auth/token_file.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {

void FuzzTokenFile(std::string_view input) {
  // Texts that are no UTF-8 are said on standard error.
  google::protobuf::SetLogHandler(nullptr);
  const std::string bytes(input);
  const absl::StatusOr<hadoop::Token> token = hadoop::ParseTokenText(bytes);
  Require(token.ok() || absl::IsInvalidArgument(token.status()), "text that is none is refused");
  const absl::StatusOr<hadoop::TokenStore> store = hadoop::ParseTokens(bytes);
  if (!store.ok()) {
    Require(absl::IsDataLoss(store.status()), "a file that is none is DataLoss");
    return;
  }
  for (const auto format : {hadoop::TokenFormat::kWritable, hadoop::TokenFormat::kProtobuf}) {
    const auto again = hadoop::ParseTokens(hadoop::FormatTokens(*store, format));
    Require(again.ok() && *again == *store, "what is written is what was read");
  }
  for (const auto& [alias, one] : store->tokens) {
    const auto again = hadoop::ParseTokenText(hadoop::FormatTokenText(one));
    Require(again.ok() && *again == one, "a token's text stands for it");
  }
}

}  // namespace tony::fuzz
