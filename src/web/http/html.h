// Escapes text for HTML.
#pragma once

#include <string>

namespace tony::web {

/// Returns `text` in a form that may stand between tags and in quoted attributes: characters with a
/// meaning in HTML become entities; control characters, except tabs and line breaks, and those that
/// turn the direction of a text become U+FFFD.
std::string Escape(const std::string& text);

/// Returns `text` percent-encoded, except letters, digits, '-', '.', '_' and '~', for one part of a
/// relative link.
std::string EncodePathPart(const std::string& text);

}  // namespace tony::web
