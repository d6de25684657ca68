// Finds the element that malformed XML leaves open, which the XML library does not tell.
#pragma once

#include <optional>
#include <string>

namespace tony::jobfile {

/// The first place where the tags of a text do not match. A plain value.
struct TagMismatch {
  int line = 0;
  std::string sentence;  ///< "the file ends inside <configuration>, opened in line 1"
};

/// nullopt: each element is closed by its own end tag, so the mistake is of another kind.
std::optional<TagMismatch> FindTagMismatch(const std::string& text);

}  // namespace tony::jobfile
