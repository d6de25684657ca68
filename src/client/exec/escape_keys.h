// The keys that leave a remote terminal from here, as in ssh.
#pragma once

#include <string>

namespace tony::client {

/// Looks for "~." at the beginning of a line in what the user types; "~~" there is one "~". Not
/// thread safe.
class EscapeKeys {
 public:
  /// Takes typed bytes and returns those to be passed on.
  std::string Take(const std::string& typed);
  /// Whether "~." was typed; nothing is passed on after it.
  bool left() const { return left_; }

 private:
  bool line_begins_ = true;
  bool tilde_ = false;  ///< held back: the first key of the line was "~"
  bool left_ = false;
};

}  // namespace tony::client
