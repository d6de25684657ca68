// Foreign text for people: made harmless for their terminal, and written.
#pragma once

#include <string>

namespace tony {

/// `text` as one line without what could steer a terminal. Escape sequences (ECMA-48), control
/// characters (C0, DEL, C1) and characters that reverse the direction of writing are dropped, tabs
/// and ends of lines become spaces, bytes that are not UTF-8 become U+FFFD. The result is
/// well-formed UTF-8, and its own SafeText.
std::string SafeText(const std::string& text);

/// Which of tony's own escape sequences stay in a text.
enum class Paint {
  kNone,    ///< none
  kColors,  ///< the eight colours of letters, "ESC [ 30 m" to "ESC [ 37 m", and "ESC [ 0 m"
};

/// SafeText of each line of `text`, whose line ends stay.
std::string SafeLines(const std::string& text, Paint paint = Paint::kNone);

/// The one way to people's terminals: writes SafeLines(text) to `fd`, all of it. False: the reader
/// went away, or nothing can be written.
bool PrintForPeople(int fd, const std::string& text, Paint paint = Paint::kNone);

/// The same JSON value with what could steer a terminal written as \uXXXX; `json` is JSON text in
/// UTF-8, whose writer has escaped the characters below U+0020.
std::string SafeJson(const std::string& json);

}  // namespace tony
