// Token files: the one that HADOOP_TOKEN_FILE_LOCATION names, and those that containers are started
// with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/auth/token.h"

namespace tony::hadoop {

/// Hadoop's Credentials: tokens and other secrets, each with its alias. A plain value.
struct TokenStore {
  std::vector<std::pair<std::string, Token>> tokens;
  std::vector<std::pair<std::string, std::string>> secrets;

  /// The first token of `kind`, or null.
  const Token* Find(const std::string& kind) const;
  /// Adds `token` with its service's name as alias, as Hadoop does. A token with the same alias is
  /// replaced.
  void Add(Token token);

  friend bool operator==(const TokenStore&, const TokenStore&) = default;
};

/// The formats of token files, numbered as in the file's version byte. Hadoop 3 reads both.
enum class TokenFormat {
  kWritable = 0,  ///< Hadoop 2 reads it too
  kProtobuf = 1,
};

/// Parses a token file of either format. DataLoss – `contents` is no token file, of an unknown
/// version, or cut off.
absl::StatusOr<TokenStore> ParseTokens(const std::string& contents);
std::string FormatTokens(const TokenStore& store, TokenFormat format);

/// Reads the token file at `path`. The codes of ParseTokens and errno codes (os/files/files.h);
/// messages name the path.
absl::StatusOr<TokenStore> ReadTokenFile(const std::string& path);
/// Writes a token file with mode 0600 and replaces an existing one. Errno codes.
absl::Status WriteTokenFile(const std::string& path, const TokenStore& store, TokenFormat format);

/// Parses a token from its text in WebHDFS' URLs and answers: the Base64 of its Writable form.
/// InvalidArgument – `text` is no such text.
absl::StatusOr<Token> ParseTokenText(const std::string& text);
std::string FormatTokenText(const Token& token);

}  // namespace tony::hadoop
