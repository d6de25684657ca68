// One pass over the text, without backtracking; the limits of RFC 2831, section 2.1.1, are checked
// after it.
#include "hadoop/auth/digest_challenge.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr size_t kLongestChallenge = size_t{64} * 1024;
// Bounds of maxbuf: more than 16 bytes and less than 2^24 (RFC 2831, 2.1.1).
constexpr size_t kSmallestBuffer = 17;
constexpr size_t kLargestBuffer = 16777215;

using Pairs = std::map<std::string, std::vector<std::string>>;

/// A scanner of the grammar `#( name "=" ( token | quoted-string ) )`. Not thread safe.
class Scanner {
 public:
  explicit Scanner(const std::string& text) : text_(text) {}

  absl::StatusOr<Pairs> Run() {
    Pairs pairs;
    // RFC 2831 takes the list rule of RFC 2616, 2.1, in which items between commas may be empty.
    for (SkipSeparators(); at_ < text_.size(); SkipSeparators()) {
      const std::string name = Word("=, \t");
      if (name.empty() || at_ >= text_.size() || text_[at_] != '=') return Malformed();
      ++at_;
      std::string value;
      if (at_ < text_.size() && text_[at_] == '"') {
        if (!QuotedWord(&value)) return Malformed();
      } else {
        value = Word(", \t");
      }
      pairs[absl::AsciiStrToLower(name)].push_back(value);
      if (at_ < text_.size() && !IsSeparator(text_[at_])) return Malformed();
    }
    return pairs;
  }

 private:
  static bool IsSeparator(char c) { return c == ',' || absl::ascii_isspace(c); }

  void SkipSeparators() {
    while (at_ < text_.size() && IsSeparator(text_[at_])) ++at_;
  }

  std::string Word(const char* end_of_word) {
    const size_t end = std::min(text_.find_first_of(end_of_word, at_), text_.size());
    std::string word = text_.substr(at_, end - at_);
    at_ = end;
    return word;
  }

  // Reads a quoted string; a backslash quotes the character after it. False: the closing quote is
  // missing.
  bool QuotedWord(std::string* word) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      word->push_back(text_[at_]);
    }
    return false;
  }

  absl::Status Malformed() const {
    return absl::InvalidArgumentError(
        absl::StrCat("a malformed DIGEST-MD5 message at byte ", at_, " of ", text_.size()));
  }

  const std::string& text_;
  size_t at_ = 0;
};

// The items, in lower case, of the list that is the value of `name`: "auth,auth-int". A name that
// occurs several times has all its lists joined.
std::vector<std::string> Items(const Pairs& pairs, const std::string& name) {
  std::vector<std::string> items;
  const auto found = pairs.find(name);
  if (found == pairs.end()) return items;
  for (const std::string& list : found->second) {
    for (const auto& item : absl::StrSplit(list, absl::ByAnyChar(", \t"), absl::SkipEmpty())) {
      items.push_back(absl::AsciiStrToLower(item));
    }
  }
  return items;
}

// The value of `name`, or `fallback` if it is absent. A repeated name is an error: RFC 2831, 2.1.1,
// demands that the client then aborts.
absl::StatusOr<std::string> One(const Pairs& pairs, const std::string& name,
                                const std::string& fallback) {
  const auto found = pairs.find(name);
  if (found == pairs.end()) return fallback;
  if (found->second.size() == 1) return found->second.front();
  return absl::InvalidArgumentError(
      absl::StrCat("the DIGEST-MD5 challenge has ", found->second.size(), " of ", name));
}

}  // namespace

absl::StatusOr<Pairs> ParseDigestPairs(const std::string& text) { return Scanner(text).Run(); }

absl::StatusOr<DigestChallenge> ParseDigestChallenge(const std::string& text) {
  if (text.size() > kLongestChallenge) {
    return absl::InvalidArgumentError(
        absl::StrCat("a DIGEST-MD5 challenge of ", text.size(), " bytes"));
  }
  TONY_ASSIGN_OR_RETURN(const Pairs pairs, ParseDigestPairs(text));
  DigestChallenge challenge;
  // The client may choose among several realms. Hadoop's servers offer one.
  if (const auto realm = pairs.find("realm"); realm != pairs.end()) {
    challenge.realm = realm->second.front();
  }
  TONY_ASSIGN_OR_RETURN(challenge.nonce, One(pairs, "nonce", ""));
  TONY_ASSIGN_OR_RETURN(const std::string algorithm, One(pairs, "algorithm", ""));
  TONY_ASSIGN_OR_RETURN(const std::string charset, One(pairs, "charset", ""));
  TONY_ASSIGN_OR_RETURN(const std::string buffer, One(pairs, "maxbuf", "65536"));
  if (challenge.nonce.empty()) {
    return absl::InvalidArgumentError("the DIGEST-MD5 challenge has no nonce");
  }
  // RFC 2831, 2.1.1: the algorithm must be given, and md5-sess is the only one.
  if (absl::AsciiStrToLower(algorithm) != "md5-sess") {
    return absl::InvalidArgumentError(absl::StrCat(
        "the DIGEST-MD5 challenge is for the algorithm '", algorithm, "' instead of md5-sess"));
  }
  uint64_t max_bytes = 0;
  if (!absl::SimpleAtoi(buffer, &max_bytes) || max_bytes < kSmallestBuffer ||
      max_bytes > kLargestBuffer) {
    return absl::InvalidArgumentError(
        absl::StrCat("the DIGEST-MD5 challenge's maxbuf '", buffer, "' is none"));
  }
  challenge.max_bytes = max_bytes;
  challenge.utf8 = absl::AsciiStrToLower(charset) == "utf-8";
  // A server without `qop` offers "auth" (RFC 2831, 2.1.1).
  challenge.protections = Items(pairs, "qop");
  if (challenge.protections.empty()) challenge.protections = {"auth"};
  challenge.ciphers = Items(pairs, "cipher");
  return challenge;
}

std::string DigestQuoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  return quoted + "\"";
}

}  // namespace tony::hadoop
