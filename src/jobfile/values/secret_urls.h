// Web addresses whose paths are secrets, such as those of webhooks.
#pragma once

#include <cstddef>
#include <string>

namespace tony::jobfile {

inline constexpr size_t kMostSecretUrls = 4;

/// What is wrong with the address, as a predicate that does not quote it; empty: nothing. A good
/// one begins with http:// or https://, names a host and no user, has at most 2048 characters, and
/// all of them are printable ASCII.
std::string SecretUrlTrouble(const std::string& url);

/// Scheme, host and port of a good address, "https://hooks.slack.com"; "[redacted]" for others.
std::string SecretUrlServer(const std::string& url);

/// The list as others may see it: "https://hooks.slack.com/[redacted]".
std::string ShownSecretUrls(const std::string& list);

}  // namespace tony::jobfile
