// Text made fit for HTML.
#pragma once

#include <string>

namespace tony::web {

/// `text` as it may stand between tags and in quoted attributes: characters with a meaning in HTML
/// become entities; control characters, but for tabs and line breaks, become U+FFFD.
std::string Escape(const std::string& text);

/// `text` with everything percent-encoded but letters, digits, '-', '.', '_' and '~': for one part
/// of a relative link.
std::string EncodePathPart(const std::string& text);

}  // namespace tony::web
