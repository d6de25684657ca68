// The kernel's text files, whose size is not known beforehand.
#pragma once

#include <string>

namespace tony::os {

/// Replaces `contents` by all of the file; its buffer is used again. False when the file cannot be
/// opened or read, which is the normal fate of /proc/PID files whose process has just ended.
bool ReadProcFile(const std::string& path, std::string& contents);

/// The same as a value; empty when it cannot be read.
std::string ReadProcFile(const std::string& path);

/// Writes `text` at once to a file that exists, of /proc or of a control group. Returns 0, or the
/// error's number.
int WriteProcFile(const std::string& path, const std::string& text);

}  // namespace tony::os
