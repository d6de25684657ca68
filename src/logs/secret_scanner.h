// Takes well-known kinds of secrets out of a stream of output, at gigabytes a second.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace tony::logs {

/// Takes bytes of output.
using OutputSink = std::function<void(const char* data, size_t size)>;

/// The text that replaces a secret.
inline constexpr char kRedacted[] = "[redacted]";

/// Replaces by kRedacted:
///   - the value of `password`, `passwd`, `passphrase`, `api_key`, `client_secret`, `secret_key`,
///     `secret_access_key`, `access_token` and `auth_token`, behind `=` or `:`;
///   - the text behind `Bearer` and `Authorization: Basic`;
///   - the password of `scheme://user:password@host`;
///   - tokens of AWS, GitHub, GitLab, Hugging Face, Slack and Google, recognized by their first
///     letters, which stay;
///   - the body of a PEM private key.
///
/// 1. The three bytes at every other position are looked up in a small table, without regard to
///    case. Nearly all output ends here.
/// 2. If the table has an entry, the rules are tried.
/// 3. A secret may be divided between two pieces of output. The possible begin of a secret at the
///    end of a piece, at most kMaxUndecidedBytes (secret_rules.h), is held until the next piece. A
///    secret without an end is swallowed as it comes.
///
/// Not thread safe.
class SecretScanner {
 public:
  /// Passes the bytes on to `sink`, in one or more pieces.
  void Add(const char* data, size_t size, const OutputSink& sink);
  /// Passes on the held bytes: no more output is expected.
  void Flush(const OutputSink& sink);

 private:
  /// The kind of text to which the next bytes belong.
  enum class State { kText, kValue, kPrivateKey };

  void Scan(const char* data, size_t size, bool last, const OutputSink& sink);
  const char* ScanText(const char* begin, const char* end, bool last, const OutputSink& sink);
  const char* SkipValue(const char* begin, const char* end);
  const char* SkipPrivateKey(const char* begin, const char* end);

  State state_ = State::kText;
  const unsigned char* value_class_ = nullptr;  ///< class of the value being skipped
  size_t skipped_ = 0;                          ///< bytes of the private key so far
  char previous_ = '\n';                        ///< the byte before the next one
  std::string held_;
};

/// Returns `text` as a SecretScanner passes it on. Thread safe.
std::string WithoutSecrets(absl::string_view text);

}  // namespace tony::logs
