// The header Cookie, taken apart and put together.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tony::web {

/// Names and values of "a=1; b=2", not decoded. Parts without '=' are left out.
std::vector<std::pair<std::string, std::string>> SplitCookies(const std::string& header);

/// The header without the cookies whose names begin with `prefix`.
std::string CookiesWithout(const std::string& header, const std::string& prefix);

}  // namespace tony::web
