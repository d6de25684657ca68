// A state machine over pieces of output. Bytes are held between two pieces only if they may be the
// begin of a secret or of the end of a private key.
#include "logs/secret_scanner.h"

#include <algorithm>
#include <cstring>

#include "logs/secret_rules.h"

namespace tony::logs {
namespace {

/// A private key without an end is swallowed only up to this size; then the text counts as ordinary
/// output again.
constexpr size_t kMaxPrivateKey = 64 << 10;
constexpr char kKeyEnd[] = "-----END ";

void PassOn(const char* begin, const char* end, const OutputSink& sink) {
  if (begin < end) sink(begin, static_cast<size_t>(end - begin));
}

}  // namespace

void SecretScanner::Add(const char* data, size_t size, const OutputSink& sink) {
  if (held_.empty()) return Scan(data, size, false, sink);
  std::string joined = std::move(held_);
  held_.clear();
  joined.append(data, size);
  Scan(joined.data(), joined.size(), false, sink);
}

void SecretScanner::Flush(const OutputSink& sink) {
  const std::string rest = std::move(held_);
  held_.clear();
  Scan(rest.data(), rest.size(), true, sink);
}

// `previous_` is kept over pieces: a token counts only if no word character stands before it.
void SecretScanner::Scan(const char* data, size_t size, bool last, const OutputSink& sink) {
  const char* const end = data + size;
  const char* at = data;
  while (at < end) {
    const char* const before = at;
    switch (state_) {
      case State::kText:
        at = ScanText(at, end, last, sink);
        break;
      case State::kValue:
        at = SkipValue(at, end);
        break;
      case State::kPrivateKey:
        at = SkipPrivateKey(at, end);
        break;
    }
    if (at > before) previous_ = at[-1];
    if (!held_.empty()) return;
  }
}

// An undecided match holds everything from its begin on; the next piece is scanned together with
// it.
const char* SecretScanner::ScanText(const char* begin, const char* end, bool last,
                                    const OutputSink& sink) {
  const char* at = begin;
  while (true) {
    at = FindSecretAnchor(at, end);
    if (at == end) {
      PassOn(begin, end, sink);
      return end;
    }
    const char previous = at > begin ? at[-1] : previous_;
    const SecretMatch match = MatchSecret(at, end, previous, last);
    if (match.kind == SecretMatch::Kind::kNone) {
      ++at;
      continue;
    }
    if (match.kind == SecretMatch::Kind::kUndecided) {
      PassOn(begin, at, sink);
      if (at > begin) previous_ = at[-1];
      held_.assign(at, end);
      return at;
    }
    PassOn(begin, match.value, sink);
    sink(kRedacted, sizeof kRedacted - 1);
    previous_ = match.value[-1];
    if (match.kind == SecretMatch::Kind::kPart) return match.end;
    state_ = match.kind == SecretMatch::Kind::kValue ? State::kValue : State::kPrivateKey;
    value_class_ = match.value_class;
    skipped_ = 0;
    return match.value;
  }
}

// The rule has decided already that this is a secret, so the value is skipped to its end, however
// long it is and over however many pieces.
const char* SecretScanner::SkipValue(const char* begin, const char* end) {
  const char* at = begin;
  while (at < end && value_class_[static_cast<unsigned char>(*at)] != 0) ++at;
  if (at < end) state_ = State::kText;
  return at;
}

const char* SecretScanner::SkipPrivateKey(const char* begin, const char* end) {
  constexpr size_t kEndBytes = sizeof kKeyEnd - 1;
  const char* found = std::search(begin, end, kKeyEnd, kKeyEnd + kEndBytes);
  if (found < end) {
    state_ = State::kText;
    return found;
  }
  skipped_ += static_cast<size_t>(end - begin);
  if (skipped_ > kMaxPrivateKey) {
    state_ = State::kText;
    return end;
  }
  // The end mark may be divided between two pieces, so its possible first bytes are held.
  for (size_t kept = std::min(kEndBytes - 1, static_cast<size_t>(end - begin)); kept > 0; --kept) {
    if (std::memcmp(end - kept, kKeyEnd, kept) == 0) {
      held_.assign(end - kept, kept);
      break;
    }
  }
  return end;
}

std::string WithoutSecrets(absl::string_view text) {
  SecretScanner scanner;
  std::string clean;
  const OutputSink sink = [&](const char* data, size_t size) { clean.append(data, size); };
  scanner.Add(text.data(), text.size(), sink);
  scanner.Flush(sink);
  return clean;
}

}  // namespace tony::logs
