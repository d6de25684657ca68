// A refused attempt does not lengthen the wait: a stranger who goes on trying would otherwise keep
// a name closed without end at no cost.
#include "portal/login/attempt_limit.h"

#include <arpa/inet.h>

#include <algorithm>

namespace tony::portal {

std::chrono::seconds AttemptLimit::Try(const std::string& address, const std::string& name) {
  Count& of_address = Of(addresses_, Network(address));
  Count& of_name = Of(names_, name);
  const bool address_full = of_address.attempts >= kMostOfAddress;
  const bool name_full = of_name.attempts >= kMostOfName;
  if (!address_full && !name_full) {
    ++of_address.attempts;
    ++of_name.attempts;
    return std::chrono::seconds(0);
  }
  TimePoint end{};
  if (address_full) end = of_address.end;
  if (name_full) end = std::max(end, of_name.end);
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
      counts.erase(std::min_element(
          counts.begin(), counts.end(),
          [](const auto& one, const auto& other) { return one.second.end < other.second.end; }));
    }
    found = counts.emplace(key, Count{now + kWindow, 0}).first;
  }
  if (found->second.end <= now) found->second = {now + kWindow, 0};
  return found->second;
}

std::string AttemptLimit::Network(const std::string& address) {
  in6_addr bytes{};
  if (::inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
  return std::string(reinterpret_cast<const char*>(bytes.s6_addr), 8);
}

}  // namespace tony::portal
