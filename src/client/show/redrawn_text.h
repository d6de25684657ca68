// Text on a terminal that is drawn again in place.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "client/cli/screen.h"
#include "client/show/progress_printer.h"

namespace tony::client {

/// The cursor rests on the text's first line, so that the next text is drawn from there whatever
/// has become of the lines below: the window was made narrower and wraps them, Ctrl-C was echoed,
/// or they have scrolled. Not thread safe.
class RedrawnText {
 public:
  explicit RedrawnText(Writer write) : write_(std::move(write)) {}

  /// Whether there is a text that the next one replaces.
  bool drawn() const { return !drawn_.empty(); }
  /// Draws `text`, whole lines that are no longer than the screen is wide, in place of the one
  /// before. `above`: lines that stay above it. `leave`: the cursor stays below, and the text is
  /// never erased. Nothing is written if nothing has changed.
  void Draw(const std::string& text, const std::string& above, const Screen& screen, bool leave);

 private:
  Writer write_;
  std::string drawn_;  ///< the text on the screen; empty: none that could be erased
  Screen drawn_on_;
};

/// The first `most` lines of `text`; the last of them says how many are left out.
std::string ClipLines(const std::string& text, ptrdiff_t most);

/// How many lines `text` has.
ptrdiff_t CountLines(const std::string& text);

}  // namespace tony::client
