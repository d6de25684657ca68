// Makes text from other programs harmless for people's terminals, and writes it.
#pragma once

#include <string>

namespace tony {

/// Returns `text` as one line without anything that could steer a terminal. Escape sequences
/// (ECMA-48), control characters (C0, DEL, C1) and characters that change the direction of writing
/// are dropped; tabs and line ends become spaces; bytes that are not UTF-8 become U+FFFD. The
/// result is well-formed UTF-8, and SafeText does not change it again.
std::string SafeText(const std::string& text);

/// Tony's own escape sequences that stay in a text.
enum class Paint {
  kNone,    ///< none
  kColors,  ///< the eight foreground colours, "ESC [ 30 m" to "ESC [ 37 m", and "ESC [ 0 m"
};

/// SafeText of each line of `text`. The line ends stay.
std::string SafeLines(const std::string& text, Paint paint = Paint::kNone);

/// The one way to people's terminals: writes all of SafeLines(text) to `fd`. Returns false if the
/// reader has gone away or nothing can be written.
bool PrintForPeople(int fd, const std::string& text, Paint paint = Paint::kNone);

/// Returns the same JSON value with characters that could steer a terminal written as \uXXXX.
/// `json`: JSON text in UTF-8, whose writer has escaped the characters below U+0020.
std::string SafeJson(const std::string& json);

}  // namespace tony
