// The format of Hadoop's Credentials: "HDTS", a version byte, then tokens and secrets, each with
// its alias.
#include "hadoop/auth/token_file.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "hadoop/auth/token_message.h"
#include "hadoop/base/wire_frame.h"
#include "hadoop/base/writable.h"
#include "hadoop/common/security.pb.h"
#include "os/files/files.h"

namespace tony::hadoop {
namespace {

namespace wire = ::hadoop::common;

constexpr absl::string_view kMagic = "HDTS";
constexpr size_t kHeaderBytes = 5;

absl::StatusOr<Token> ReadToken(WritableReader& reader) {
  Token token;
  TONY_ASSIGN_OR_RETURN(token.identifier, reader.Bytes());
  TONY_ASSIGN_OR_RETURN(token.password, reader.Bytes());
  TONY_ASSIGN_OR_RETURN(token.kind, reader.Bytes());
  TONY_ASSIGN_OR_RETURN(token.service, reader.Bytes());
  return token;
}

void AppendToken(const Token& token, std::string* text) {
  for (const std::string* part :
       {&token.identifier, &token.password, &token.kind, &token.service}) {
    AppendWritableBytes(*part, text);
  }
}

absl::StatusOr<TokenStore> ParseWritable(const std::string& contents) {
  WritableReader reader(contents, kHeaderBytes);
  TokenStore store;
  // Nothing is reserved for the announced counts, which a damaged file may set to any number. Each
  // entry takes bytes, so the loops end with DataLoss at the end of the file at the latest.
  TONY_ASSIGN_OR_RETURN(const int64_t tokens, reader.Number());
  for (int64_t i = 0; i < tokens; ++i) {
    TONY_ASSIGN_OR_RETURN(std::string alias, reader.Bytes());
    TONY_ASSIGN_OR_RETURN(Token token, ReadToken(reader));
    store.tokens.emplace_back(std::move(alias), std::move(token));
  }
  TONY_ASSIGN_OR_RETURN(const int64_t secrets, reader.Number());
  for (int64_t i = 0; i < secrets; ++i) {
    TONY_ASSIGN_OR_RETURN(std::string alias, reader.Bytes());
    TONY_ASSIGN_OR_RETURN(std::string secret, reader.Bytes());
    store.secrets.emplace_back(std::move(alias), std::move(secret));
  }
  return store;
}

absl::StatusOr<TokenStore> ParseProtobuf(const std::string& contents) {
  const std::string delimited = contents.substr(kHeaderBytes);
  MessageReader reader(delimited);
  wire::CredentialsProto message;
  // MessageReader reads an absent message as an empty one, which would hide a cut-off file.
  if (reader.AtEnd()) return absl::DataLossError("it ends behind its first five bytes");
  TONY_RETURN_IF_ERROR(reader.Read(&message));
  TokenStore store;
  for (const auto& entry : message.tokens()) {
    store.tokens.emplace_back(entry.alias(), TokenOf(entry.token()));
  }
  for (const auto& entry : message.secrets()) {
    store.secrets.emplace_back(entry.alias(), entry.secret());
  }
  return store;
}

std::string WritableOf(const TokenStore& store) {
  std::string text;
  AppendWritableNumber(static_cast<int64_t>(store.tokens.size()), &text);
  for (const auto& [alias, token] : store.tokens) {
    AppendWritableBytes(alias, &text);
    AppendToken(token, &text);
  }
  AppendWritableNumber(static_cast<int64_t>(store.secrets.size()), &text);
  for (const auto& [alias, secret] : store.secrets) {
    AppendWritableBytes(alias, &text);
    AppendWritableBytes(secret, &text);
  }
  return text;
}

std::string ProtobufOf(const TokenStore& store) {
  wire::CredentialsProto message;
  for (const auto& [alias, token] : store.tokens) {
    auto* const entry = message.add_tokens();
    entry->set_alias(alias);
    *entry->mutable_token() = MessageOf(token);
  }
  for (const auto& [alias, secret] : store.secrets) {
    auto* const entry = message.add_secrets();
    entry->set_alias(alias);
    entry->set_secret(secret);
  }
  return Delimited(message);
}

}  // namespace

const Token* TokenStore::Find(const std::string& kind) const {
  for (const auto& [alias, token] : tokens) {
    if (token.kind == kind) return &token;
  }
  return nullptr;
}

// The alias is the service's name, a convention of Hadoop's clients: a renewed token replaces the
// old one instead of standing behind it, where no reader would find it.
void TokenStore::Add(Token token) {
  for (auto& [alias, old] : tokens) {
    if (alias != token.service) continue;
    old = std::move(token);
    return;
  }
  std::string alias = token.service;
  tokens.emplace_back(std::move(alias), std::move(token));
}

absl::StatusOr<TokenStore> ParseTokens(const std::string& contents) {
  if (contents.size() < kHeaderBytes || absl::string_view(contents).substr(0, 4) != kMagic) {
    return absl::DataLossError("it is no token file: it does not begin with HDTS");
  }
  switch (static_cast<TokenFormat>(contents[4])) {
    case TokenFormat::kWritable:
      return ParseWritable(contents);
    case TokenFormat::kProtobuf:
      return ParseProtobuf(contents);
  }
  return absl::DataLossError(absl::StrCat("a token file of version ", static_cast<int>(contents[4]),
                                          " is not known here"));
}

std::string FormatTokens(const TokenStore& store, TokenFormat format) {
  return absl::StrCat(kMagic, std::string(1, static_cast<char>(format)),
                      format == TokenFormat::kWritable ? WritableOf(store) : ProtobufOf(store));
}

absl::StatusOr<TokenStore> ReadTokenFile(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(const std::string contents, os::ReadFile(path));
  absl::StatusOr<TokenStore> store = ParseTokens(contents);
  if (!store.ok()) return Annotate(store.status(), path);
  return store;
}

absl::Status WriteTokenFile(const std::string& path, const TokenStore& store, TokenFormat format) {
  // The default mode of WriteFileAtomically(), 0600, keeps the secrets from other users.
  return os::WriteFileAtomically(path, FormatTokens(store, format));
}

absl::StatusOr<Token> ParseTokenText(const std::string& text) {
  std::string bytes;
  const absl::Status malformed = absl::InvalidArgumentError("it is no token in Base64");
  if (!absl::WebSafeBase64Unescape(text, &bytes)) return malformed;
  WritableReader reader(bytes);
  const absl::StatusOr<Token> token = ReadToken(reader);
  if (!token.ok() || !reader.AtEnd()) return malformed;
  return token;
}

std::string FormatTokenText(const Token& token) {
  std::string bytes;
  AppendToken(token, &bytes);
  return absl::WebSafeBase64Escape(bytes);
}

}  // namespace tony::hadoop
