// The first byte of a message between engines says what kind of message it is.
#pragma once

#include <string>

namespace tony::collective {

inline constexpr char kSubmission = 's';
inline constexpr char kDecision = 'd';
inline constexpr char kFailure = 'f';
inline constexpr char kIdle = 'i';
inline constexpr char kWatch = 'w';
inline constexpr char kParting = 'p';  // a failure as well: a rank has left in order

inline std::string Message(char kind, const std::string& bytes) {
  return std::string(1, kind) + bytes;
}

}  // namespace tony::collective
