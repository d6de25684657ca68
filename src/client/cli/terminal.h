// Describes the terminal that the output is connected to, and lays out text for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/environment.h"
#include "client/cli/screen.h"
#include "common/safe_text.h"

namespace tony::client {

/// True when `fd` is a terminal that understands cursor movement (TERM is neither empty nor
/// "dumb").
bool IsLiveTerminal(int fd, const Environment& environment);

/// The present size of the terminal `fd`, with colours unless NO_COLOR; 80 columns without colours
/// for anything else.
Screen DescribeScreen(int fd, const Environment& environment);

using tony::SafeText;

/// Prints `text` as a line on stderr, by PrintForPeople().
void PrintNotice(const std::string& text);

/// The number of columns that `text`, which is SafeText, takes on a terminal.
int DisplayWidth(const std::string& text);

/// `text`, which is SafeText, cut to at most `width` columns; "…" shows that something was cut.
std::string CutToWidth(const std::string& text, int width);

/// `text`, which is SafeText, broken into lines of at most `width` columns, at spaces where there
/// are any.
std::vector<std::string> WrapToWidth(const std::string& text, int width);

/// `text` followed by spaces up to `width` columns.
std::string PadToWidth(const std::string& text, int width);

}  // namespace tony::client
