// Token files: what HADOOP_TOKEN_FILE_LOCATION names, and what a container gets along.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hadoop/auth/token.h"

namespace tony::hadoop {

/// Tokens and other secrets, each under a name (an alias). A plain value.
struct TokenStore {
  std::vector<std::pair<std::string, Token>> tokens;
  std::vector<std::pair<std::string, std::string>> secrets;

  /// The first token of this kind, or null.
  const Token* Find(const std::string& kind) const;
  /// Adds a token under its service's name, as Hadoop does; replaces one of the same name.
  void Add(Token token);

  friend bool operator==(const TokenStore&, const TokenStore&) = default;
};

/// How a token file is written: both are read by Hadoop 3.
enum class TokenFormat {
  kWritable = 0,  ///< also by Hadoop 2
  kProtobuf = 1,
};

/// DataLoss – not a token file, one of an unknown version, or cut off.
absl::StatusOr<TokenStore> ParseTokens(const std::string& contents);
std::string FormatTokens(const TokenStore& store, TokenFormat format);

/// The file at `path`. As ParseTokens, and errno codes (os/files/files.h); messages name the path.
absl::StatusOr<TokenStore> ReadTokenFile(const std::string& path);
/// With mode 0600, replacing what was there. Errno codes.
absl::Status WriteTokenFile(const std::string& path, const TokenStore& store, TokenFormat format);

/// A token as text for URLs, as WebHDFS gives and takes it: Base64 of its Writable form.
/// InvalidArgument – not such text.
absl::StatusOr<Token> ParseTokenText(const std::string& text);
std::string FormatTokenText(const Token& token);

}  // namespace tony::hadoop
