// Describes the screen on which text is shown: its width, and whether it has colours.
#pragma once

#include "common/safe_text.h"

namespace tony::client {

/// The abilities of the reader's screen.
struct Screen {
  int width = 80;      ///< columns; lines are cut there
  int max_tasks = 20;  ///< rows for tasks
  bool color = false;
  int rows = 0;      ///< lines that fit; 0: any number
  bool all = false;  ///< each task has a row of its own, also where many are alike
};

/// The escape sequences that text for `screen` may hold.
inline Paint PaintOf(const Screen& screen) { return screen.color ? Paint::kColors : Paint::kNone; }

}  // namespace tony::client
