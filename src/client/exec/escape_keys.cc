// A "~" at the beginning of a line is held back until the next key tells what it means.
#include "client/exec/escape_keys.h"

#include <utility>

namespace tony::client {

std::string EscapeKeys::Take(const std::string& typed) {
  std::string passed;
  for (const char key : typed) {
    if (left_) break;
    if (std::exchange(tilde_, false)) {
      left_ = key == '.';
      if (left_) break;
      if (key != '~') passed += '~';
    } else if (line_begins_ && key == '~') {
      tilde_ = true;
      continue;
    }
    passed += key;
    line_begins_ = key == '\r' || key == '\n';
  }
  return passed;
}

}  // namespace tony::client
