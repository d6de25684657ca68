// What `ps` shows of a process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tony::os {

/// The memory that the kernel shows as a process's command line: that of the arguments and of the
/// environment that it was started with. Not thread safe.
class ProcessTitle {
 public:
  /// Of this process, from the arguments of its main(). Before anything changes the environment.
  ProcessTitle(int argc, char** argv);
  /// Shows `arguments`, joined by spaces and cut off where there is no room. What main() was given
  /// is overwritten, and so is the environment that the process was started with: it must have been
  /// replaced.
  void Set(const std::vector<std::string>& arguments) const;

 private:
  char* begin_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tony::os
