// Changes the command line that `ps` shows of this process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tony::os {

/// The memory that the kernel shows as a process's command line: the arguments and the environment
/// that the process was started with. Not thread safe.
class ProcessTitle {
 public:
  /// `argc`, `argv`: the arguments of main(). Construct it before anything changes the environment.
  ProcessTitle(int argc, char** argv);
  /// Shows `arguments`, joined by spaces and truncated to the room. This overwrites main()'s
  /// arguments and the environment that the process was started with: that environment must have
  /// been replaced before.
  void Set(const std::vector<std::string>& arguments) const;

 private:
  char* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tony::os
