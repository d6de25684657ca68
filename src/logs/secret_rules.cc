// Two hash tables computed at compile time find candidate places (anchors) quickly; a matcher for
// each form of rule then decides.
#include "logs/secret_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tony::logs {
namespace {

/// Upper bound of the quotes and spaces between a name and its value.
constexpr ptrdiff_t kMaxGap = 8;
/// Upper bound of user and password in a URL.
constexpr ptrdiff_t kMaxUserInfo = 512;
/// Upper bound from "-----BEGIN " to the next dashes.
constexpr ptrdiff_t kMaxKeyTitle = 64;

// "://" and a URL's user and password are the longest text about which a rule may be undecided.
static_assert(3 + kMaxUserInfo <= ptrdiff_t{kMaxUndecidedBytes});

constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kDigits = "0123456789";

using ClassTable = std::array<unsigned char, 256>;

constexpr ClassTable ClassOf(std::initializer_list<std::string_view> members) {
  ClassTable table{};
  for (const std::string_view part : members) {
    for (const char member : part) table[static_cast<unsigned char>(member)] = 1;
  }
  return table;
}

constexpr ClassTable AllBut(std::string_view members) {
  ClassTable table{};
  for (unsigned char& flag : table) flag = 1;
  for (const char member : members) table[static_cast<unsigned char>(member)] = 0;
  return table;
}

constexpr ClassTable kUpperOrDigit = ClassOf({kUpper, kDigits});
constexpr ClassTable kWord = ClassOf({kUpper, kLower, kDigits, "_"});
constexpr ClassTable kTokenBytes = ClassOf({kUpper, kLower, kDigits, "_-"});
constexpr ClassTable kBearerBytes = ClassOf({kUpper, kLower, kDigits, "._~+/=-"});
constexpr ClassTable kBareValue = AllBut(" \t\r\n\"'");
constexpr ClassTable kSingleQuoted = AllBut("\r\n'");
constexpr ClassTable kDoubleQuoted = AllBut("\r\n\"");
constexpr ClassTable kAuthority = AllBut(" \t\r\n\"'<>/?#\\");

constexpr bool Is(const ClassTable& table, char byte) {
  return table[static_cast<unsigned char>(byte)] != 0;
}

/// The form of a rule behind its literal.
enum class Form { kToken, kAssignment, kHeader, kUrl, kPrivateKey };

/// One rule. Literals of kToken are compared exactly, others without regard to case; they have at
/// least kSecretAnchorBytes bytes. The last byte may be '?', which stands for any letter or digit,
/// or '*', which stands for a byte with which a user's name may begin. The byte it stands for
/// belongs to the value.
struct Rule {
  std::string_view literal;
  Form form;
  const ClassTable* value;
  ptrdiff_t minimum;  ///< least number of bytes of the value
};

constexpr Rule kRules[] = {
    {"AKIA", Form::kToken, &kUpperOrDigit, 16},
    {"ASIA", Form::kToken, &kUpperOrDigit, 16},
    {"ghp_", Form::kToken, &kWord, 20},
    {"gho_", Form::kToken, &kWord, 20},
    {"ghu_", Form::kToken, &kWord, 20},
    {"ghs_", Form::kToken, &kWord, 20},
    {"ghr_", Form::kToken, &kWord, 20},
    {"github_pat_", Form::kToken, &kWord, 20},
    {"glpat-", Form::kToken, &kTokenBytes, 16},
    {"hf_?", Form::kToken, &kWord, 20},
    {"xoxa-", Form::kToken, &kTokenBytes, 10},
    {"xoxb-", Form::kToken, &kTokenBytes, 10},
    {"xoxe-", Form::kToken, &kTokenBytes, 10},
    {"xoxp-", Form::kToken, &kTokenBytes, 10},
    {"xoxr-", Form::kToken, &kTokenBytes, 10},
    {"xoxs-", Form::kToken, &kTokenBytes, 10},
    {"xapp-", Form::kToken, &kTokenBytes, 10},
    {"AIza", Form::kToken, &kTokenBytes, 35},
    {"bearer ", Form::kHeader, &kBearerBytes, 8},
    {"password", Form::kAssignment, &kBareValue, 1},
    {"passwd", Form::kAssignment, &kBareValue, 1},
    {"passphrase", Form::kAssignment, &kBareValue, 1},
    {"secret_access_key", Form::kAssignment, &kBareValue, 1},
    {"secretaccesskey", Form::kAssignment, &kBareValue, 1},
    {"secret_key", Form::kAssignment, &kBareValue, 1},
    {"client_secret", Form::kAssignment, &kBareValue, 1},
    {"api_key", Form::kAssignment, &kBareValue, 1},
    {"apikey", Form::kAssignment, &kBareValue, 1},
    {"api-key", Form::kAssignment, &kBareValue, 1},
    {"access_token", Form::kAssignment, &kBareValue, 1},
    {"auth_token", Form::kAssignment, &kBareValue, 1},
    {"collective_key", Form::kAssignment, &kBareValue, 1},
    {"authorization: basic ", Form::kHeader, &kBearerBytes, 4},
    {"://*", Form::kUrl, nullptr, 0},
    {"-begin ", Form::kPrivateKey, nullptr, 0},
};

/// Maps upper and lower case of a letter to the same byte. Some other bytes become equal as well;
/// the rules tell them apart.
constexpr unsigned char Fold(char byte) { return static_cast<unsigned char>(byte) | 0x20; }

constexpr bool FitsLiteral(char byte, char literal) {
  if (literal == '*') return Is(kWord, byte) || byte == ':' || byte == '%';
  if (literal == '?') return Is(kWord, byte) && byte != '_';
  return Fold(byte) == Fold(literal);
}

constexpr uint32_t kFoldedBytes = 0x20202020;
constexpr int kTableBits = 14;

constexpr uint32_t SlotOf(uint32_t three_folded_bytes) {
  return (three_folded_bytes * 0x9E3779B1u) >> (32 - kTableBits);
}

using AnchorTable = std::array<unsigned char, 1 << kTableBits>;
constexpr int kRuleTableBits = 12;
/// The rules to try, one bit each, by a hash of the four bytes of an anchor.
using RuleTable = std::array<uint64_t, 1 << kRuleTableBits>;
static_assert(std::size(kRules) <= 64);

constexpr uint32_t RuleSlotOf(uint32_t four_folded_bytes) {
  return (four_folded_bytes * 0x9E3779B1u) >> (32 - kRuleTableBits);
}

struct Tables {
  AnchorTable anchors{};
  RuleTable rules{};
};

/// Marks bytes 0–2 and bytes 1–3 of each anchor. One of the two begins at an even position, so the
/// search can step by two.
constexpr Tables MakeTables() {
  Tables tables;
  for (size_t rule = 0; rule < std::size(kRules); ++rule) {
    const std::string_view literal = kRules[rule].literal;
    const uint32_t first = uint32_t{Fold(literal[0])} | uint32_t{Fold(literal[1])} << 8 |
                           uint32_t{Fold(literal[2])} << 16;
    tables.anchors[SlotOf(first)] = 1;
    // Only the last byte of an anchor may be '?' or '*'.
    for (int value = 0; value < 256; ++value) {
      if (!FitsLiteral(static_cast<char>(value), literal[3])) continue;
      const uint32_t anchor = first | uint32_t{Fold(static_cast<char>(value))} << 24;
      tables.anchors[SlotOf(anchor >> 8)] = 1;
      tables.rules[RuleSlotOf(anchor)] |= uint64_t{1} << rule;
    }
  }
  return tables;
}

constexpr Tables kTables = MakeTables();

uint32_t FourBytesAt(const char* at) {
  uint32_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

/// Whether the bytes at `at` begin like the rule's literal, as far as the bytes and the rule's
/// anchor reach.
bool BeginsLike(const Rule& rule, const char* at, const char* end) {
  const size_t length = std::min<size_t>(kSecretAnchorBytes, static_cast<size_t>(end - at));
  for (size_t i = 0; i < length; ++i) {
    if (!FitsLiteral(at[i], rule.literal[i])) return false;
  }
  return true;
}

/// Returns the rules to try at `at`, one bit each.
uint64_t RulesAt(const char* at, const char* end) {
  if (end - at >= static_cast<ptrdiff_t>(kSecretAnchorBytes)) {
    return kTables.rules[RuleSlotOf(FourBytesAt(at) | kFoldedBytes)];
  }
  uint64_t rules = 0;
  for (size_t rule = 0; rule < std::size(kRules); ++rule) {
    if (BeginsLike(kRules[rule], at, end)) rules |= uint64_t{1} << rule;
  }
  return rules;
}

constexpr SecretMatch kNone{};
constexpr SecretMatch kUndecided{SecretMatch::Kind::kUndecided};

/// Matches a value of at least `minimum` bytes of the class, beginning at `value`.
SecretMatch MatchValue(const char* value, const char* end, const ClassTable& bytes,
                       ptrdiff_t minimum, bool last) {
  const char* next = value;
  while (next < end && next - value < minimum && Is(bytes, *next)) ++next;
  if (next - value == minimum) {
    return {SecretMatch::Kind::kValue, value, nullptr, bytes.data()};
  }
  return next == end && !last ? kUndecided : kNone;
}

/// Skips at most kMaxGap spaces and tabs.
const char* SkipGap(const char* at, const char* end) {
  const char* most = end - at > kMaxGap ? at + kMaxGap : end;
  while (at < most && (*at == ' ' || *at == '\t')) ++at;
  return at;
}

/// Matches `name = value`, `"name": "value"` and `name='value'`.
SecretMatch MatchAssignment(const Rule& rule, const char* at, const char* end, bool last) {
  const SecretMatch undecided = last ? kNone : kUndecided;
  if (at < end && *at == '\\') ++at;  // JSON inside JSON
  if (at < end && (*at == '"' || *at == '\'')) ++at;
  at = SkipGap(at, end);
  if (at == end) return undecided;
  if (*at != '=' && *at != ':') return kNone;
  at = SkipGap(at + 1, end);
  if (at < end && *at == '\\') ++at;
  if (at == end) return undecided;
  if (*at == '"') return MatchValue(at + 1, end, kDoubleQuoted, 1, last);
  if (*at == '\'') return MatchValue(at + 1, end, kSingleQuoted, 1, last);
  return MatchValue(at, end, *rule.value, rule.minimum, last);
}

/// Matches the password between "://user:" and "@".
SecretMatch MatchUrl(const char* at, const char* end, bool last) {
  const bool complete = last || end - at > kMaxUserInfo;
  const char* most = end - at > kMaxUserInfo ? at + kMaxUserInfo : end;
  const char* password = nullptr;
  const char* at_sign = nullptr;
  for (; at < most && Is(kAuthority, *at); ++at) {
    if (*at == ':' && password == nullptr) password = at + 1;
    if (*at == '@') at_sign = at;
  }
  if (at == end && !complete) return kUndecided;
  if (password == nullptr || at_sign == nullptr || at_sign <= password) return kNone;
  return {SecretMatch::Kind::kPart, password, at_sign, nullptr};
}

/// Matches "-----BEGIN RSA PRIVATE KEY-----".
SecretMatch MatchPrivateKey(const char* at, const char* end, bool last) {
  constexpr std::string_view kTitle = "PRIVATE KEY";
  constexpr std::string_view kDashes = "-----";
  const char* most = end - at > kMaxKeyTitle ? at + kMaxKeyTitle : end;
  const char* title_end = std::find(at, most, '-');
  if (title_end == most) return most == end && !last ? kUndecided : kNone;
  if (std::string_view(at, title_end - at).find(kTitle) == std::string_view::npos) return kNone;
  const std::string_view dashes(title_end, std::min<ptrdiff_t>(kDashes.size(), end - title_end));
  if (dashes != kDashes.substr(0, dashes.size())) return kNone;
  if (dashes.size() < kDashes.size()) return last ? kNone : kUndecided;
  return {SecretMatch::Kind::kPrivateKey, title_end + dashes.size(), nullptr, nullptr};
}

/// Tries one rule at `at`, where its anchor stands.
SecretMatch MatchRule(const Rule& rule, const char* at, const char* end, char previous, bool last) {
  const size_t length = rule.literal.size();
  const size_t there = std::min(length, static_cast<size_t>(end - at));
  const bool exact = rule.form == Form::kToken;
  for (size_t i = 0; i < there; ++i) {
    if (!FitsLiteral(at[i], rule.literal[i])) return kNone;
    if (exact && rule.literal[i] != '?' && at[i] != rule.literal[i]) return kNone;
  }
  if (exact && Is(kWord, previous)) return kNone;
  if (there < length) return last ? kNone : kUndecided;
  // The byte that a wildcard has matched belongs to the value.
  const bool wild = rule.literal.back() == '?' || rule.literal.back() == '*';
  at += wild ? length - 1 : length;
  switch (rule.form) {
    case Form::kToken:
    case Form::kHeader:
      return MatchValue(at, end, *rule.value, rule.minimum, last);
    case Form::kAssignment:
      return MatchAssignment(rule, at, end, last);
    case Form::kUrl:
      return MatchUrl(at, end, last);
    case Form::kPrivateKey:
      return MatchPrivateKey(at, end, last);
  }
  return kNone;
}

}  // namespace

const char* FindSecretAnchor(const char* begin, const char* end) {
  const char* at = begin;
  for (; end - at >= static_cast<ptrdiff_t>(kSecretAnchorBytes); at += 2) {
    if (kTables.anchors[SlotOf((FourBytesAt(at) | kFoldedBytes) & 0xFFFFFF)] == 0) continue;
    if (at > begin && RulesAt(at - 1, end) != 0) return at - 1;
    if (RulesAt(at, end) != 0) return at;
  }
  // The last bytes are too few for the table, so they are compared directly. The byte before them
  // may begin an anchor as well.
  if (at > begin) --at;
  while (at < end && RulesAt(at, end) == 0) ++at;
  return at;
}

SecretMatch MatchSecret(const char* at, const char* end, char previous, bool last) {
  for (uint64_t rules = RulesAt(at, end); rules != 0; rules &= rules - 1) {
    const SecretMatch match = MatchRule(kRules[std::countr_zero(rules)], at, end, previous, last);
    if (match.kind != SecretMatch::Kind::kNone) return match;
  }
  return kNone;
}

}  // namespace tony::logs
