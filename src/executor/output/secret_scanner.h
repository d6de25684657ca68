// Takes well-known kinds of secrets out of a stream of output, at gigabytes a second.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tony::executor {

/// Takes bytes of output.
using OutputSink = std::function<void(const char* data, size_t size)>;

/// What stands in the place of a secret.
inline constexpr char kRedacted[] = "[redacted]";

/// Replaces by kRedacted:
///  - the value of `password`, `passwd`, `passphrase`, `api_key`, `client_secret`, `secret_key`,
///    `secret_access_key`, `access_token` and `auth_token`, behind `=` or `:`;
///  - what follows `Bearer`, and `Authorization: Basic`;
///  - the password of `scheme://user:password@host`;
///  - tokens of AWS, GitHub, GitLab, Hugging Face, Slack and Google by their first letters, which
///    stay;
///  - the body of a PEM private key.
///
/// 1. Every other position is looked up by its three letters, in any case, in a small table: nearly
///    all output passes there.
/// 2. Where the table has an entry, the rules are tried.
/// 3. A secret may be divided by the pieces in which output comes: what may be the begin of one at
///    a piece's end, at most kMaxHeld bytes, waits for the next piece. A secret without an end is
///    swallowed as it comes.
///
/// Not thread safe.
class SecretScanner {
 public:
  static constexpr size_t kMaxHeld = 1024;

  /// Passes the bytes on to `sink`, in one or more pieces.
  void Add(const char* data, size_t size, const OutputSink& sink);
  /// Passes on what is held: no more is expected.
  void Flush(const OutputSink& sink);

 private:
  /// What the next bytes belong to.
  enum class State { kText, kValue, kPrivateKey };

  void Scan(const char* data, size_t size, bool last, const OutputSink& sink);
  const char* ScanText(const char* begin, const char* end, bool last, const OutputSink& sink);
  const char* SkipValue(const char* begin, const char* end);
  const char* SkipPrivateKey(const char* begin, const char* end);

  State state_ = State::kText;
  const unsigned char* value_class_ = nullptr;  ///< of the value that is skipped
  size_t skipped_ = 0;                          ///< bytes of the private key so far
  char previous_ = '\n';                        ///< the byte before the next one
  std::string held_;
};

}  // namespace tony::executor
