// Secrets expire in the order in which they were made, because all of a kind live equally long.
#include "web/access/visits.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdlib>

#include "absl/strings/escaping.h"

namespace tony::web {
namespace {

constexpr size_t kTokenBytes = 16;
/// Several people may open the page; the oldest entries go first.
constexpr size_t kMostCodes = 16;
constexpr size_t kMostVisits = 64;

}  // namespace

std::string RandomToken() {
  std::string bytes(kTokenBytes, '\0');
  // A read of this size is never cut short once the kernel's generator is ready. Without randomness
  // nothing would be secret, so the process ends.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  return absl::BytesToHexString(bytes);
}

bool EqualInConstantTime(const std::string& left, const std::string& right) {
  if (left.size() != right.size()) return false;
  volatile unsigned char difference = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    difference = difference | static_cast<unsigned char>(left[i] ^ right[i]);
  }
  return difference == 0;
}

std::string Visits::MakeCode() {
  ForgetOld();
  codes_.push_back({RandomToken(), clock_.Now() + lives_.code});
  if (codes_.size() > kMostCodes) codes_.pop_front();
  return codes_.back().text;
}

bool Visits::KnowsCode(const std::string& code) {
  ForgetOld();
  return Find(codes_, code) != codes_.end();
}

std::string Visits::Begin(const std::string& code) {
  const auto found = Find(codes_, code);
  if (found != codes_.end()) codes_.erase(found);
  visits_.push_back({RandomToken(), clock_.Now() + lives_.visit});
  if (visits_.size() > kMostVisits) visits_.pop_front();
  return visits_.back().text;
}

bool Visits::Knows(const std::string& visit) {
  ForgetOld();
  return Find(visits_, visit) != visits_.end();
}

std::vector<Visits::Kept> Visits::Keep() {
  ForgetOld();
  std::vector<Kept> kept;
  for (const Secret& visit : visits_) {
    const Duration left = visit.end - clock_.Now();
    kept.push_back({visit.text, clock_.UnixMillis() + left / std::chrono::milliseconds(1)});
  }
  return kept;
}

void Visits::Restore(const std::vector<Kept>& kept) {
  for (const Kept& visit : kept) {
    const Duration left = std::chrono::milliseconds(visit.end - clock_.UnixMillis());
    if (left <= Duration::zero()) continue;
    visits_.push_back({visit.secret, clock_.Now() + std::min(left, lives_.visit)});
    if (visits_.size() > kMostVisits) visits_.pop_front();
  }
}

void Visits::ForgetOld() {
  const TimePoint now = clock_.Now();
  while (!codes_.empty() && codes_.front().end <= now) codes_.pop_front();
  while (!visits_.empty() && visits_.front().end <= now) visits_.pop_front();
}

// All secrets are compared, without an early exit, so that the time does not tell which one
// matched.
std::deque<Visits::Secret>::iterator Visits::Find(std::deque<Secret>& secrets,
                                                  const std::string& text) {
  auto found = secrets.end();
  for (auto secret = secrets.begin(); secret != secrets.end(); ++secret) {
    if (EqualInConstantTime(secret->text, text)) found = secret;
  }
  return found;
}

}  // namespace tony::web
