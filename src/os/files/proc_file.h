// Reads and writes the kernel's text files, whose size is not known beforehand.
#pragma once

#include <string>

namespace tony::os {

/// Replaces `contents` by the whole file and reuses its buffer. Returns false if the file cannot be
/// opened or read, which is normal for /proc/PID files of a process that has just ended.
bool ReadProcFile(const std::string& path, std::string& contents);

/// Returns the whole file; empty if it cannot be read.
std::string ReadProcFile(const std::string& path);

/// Writes `text` in one write() to an existing file of /proc or of a control group. Returns 0, or
/// the errno value.
int WriteProcFile(const std::string& path, const std::string& text);

}  // namespace tony::os
