// A refused attempt does not lengthen the wait: a stranger who goes on trying would otherwise keep
// a name closed without end at no cost.
#include "web/access/attempt_limit.h"

#include <arpa/inet.h>

#include <algorithm>
#include <tuple>

namespace tony::web {

std::chrono::seconds AttemptLimit::Try(const std::string& address, const std::string& name) {
  Count& of_address = Of(addresses_, Network(address));
  if (of_address.attempts >= kMostOfAddress) {
    // A name that is remembered for it would take the place of another one.
    const auto found = names_.find(name);
    const bool name_full = found != names_.end() && found->second.attempts >= kMostOfName;
    return LeftUntil(name_full ? std::max(of_address.end, found->second.end) : of_address.end);
  }
  Count& of_name = Of(names_, name);
  if (of_name.attempts >= kMostOfName) return LeftUntil(of_name.end);
  ++of_address.attempts;
  ++of_name.attempts;
  return std::chrono::seconds(0);
}

std::chrono::seconds AttemptLimit::LeftUntil(TimePoint end) const {
  return std::chrono::ceil<std::chrono::seconds>(end - clock_.Now());
}

void AttemptLimit::Succeeded(const std::string& address, const std::string& name) {
  Count& of_address = Of(addresses_, Network(address));
  of_address.attempts = std::max(0, of_address.attempts - 1);
  names_.erase(name);
}

AttemptLimit::Count& AttemptLimit::Of(Counts& counts, const std::string& key) {
  const TimePoint now = clock_.Now();
  auto found = counts.find(key);
  if (found == counts.end()) {
    if (counts.size() >= kMostRemembered) {
      // Whoever makes up names or addresses must not make this forget a count that matters.
      counts.erase(
          std::min_element(counts.begin(), counts.end(), [now](const auto& one, const auto& other) {
            const auto weight = [now](const Count& count) {
              return std::tuple(count.end > now ? count.attempts : 0, count.end);
            };
            return weight(one.second) < weight(other.second);
          }));
    }
    found = counts.emplace(key, Count{now + kWindow, 0}).first;
  }
  if (found->second.end <= now) found->second = {now + kWindow, 0};
  return found->second;
}

std::string AttemptLimit::Network(const std::string& address) {
  in_addr four{};
  if (::inet_pton(AF_INET, address.c_str(), &four) == 1 && (ntohl(four.s_addr) >> 24) == 127) {
    return "127.0.0.0/8";  // every user of this machine has all of them
  }
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
  return std::string(reinterpret_cast<const char*>(bytes.s6_addr), 8);
}

}  // namespace tony::web
