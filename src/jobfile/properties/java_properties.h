// Reads the format of Java's Properties class, in which workflow systems written in Java hand a
// step its parameters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::jobfile {

/// One property. A plain value.
struct JavaProperty {
  std::string name;
  std::string value;  ///< with the white space at its end, which Java keeps
  int line = 0;       ///< the line on which it begins, counted from 1

  friend bool operator==(const JavaProperty&, const JavaProperty&) = default;
};

/// Parses `bytes`, which are Latin-1, into UTF-8. Of several properties with one name the last
/// counts. InvalidArgument – a `\u` that four hexadecimal digits do not follow, half of a surrogate
/// pair, or a NUL; the message begins with `display_name` and the line.
absl::StatusOr<std::vector<JavaProperty>> ParseJavaProperties(std::string_view bytes,
                                                              const std::string& display_name);

/// Reads the file at `path`, at most 16 MiB. The codes of ReadFile() and ParseJavaProperties();
/// messages name the path.
absl::StatusOr<std::vector<JavaProperty>> ReadJavaProperties(const std::string& path);

/// UTF-8 that a writer saved and a reader took for Latin-1 is put right: "grÃ¶ÃŸe" becomes "größe".
/// Only if each character is in Latin-1 and their bytes together are well-formed UTF-8; any other
/// text is returned unchanged.
std::string RepairMisreadUtf8(const std::string& text);

}  // namespace tony::jobfile
