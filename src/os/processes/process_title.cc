// Overwrites the memory of the arguments and of the environment after them: if the arguments do not
// end with NUL where they ended at the start, Linux reads on into the environment (proc(5)).
#include "os/processes/process_title.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "os/files/proc_file.h"

namespace tony::os {
namespace {

// The address where the kernel sees this process's arguments begin. It lies before main()'s
// arguments if a dynamic loader was executed and took the first arguments for itself. Null if /proc
// does not tell.
char* FirstArgument() {
  constexpr size_t kStart = 48 - 3;  // proc(5) counts from 1; the name, number 2, ends with ')'
  const std::string stat = ReadProcFile("/proc/self/stat");
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(std::min(stat.size(), stat.rfind(')') + 2)), ' ');
  uintptr_t address = 0;
  if (fields.size() <= kStart || !absl::SimpleAtoi(fields[kStart], &address)) return nullptr;
  return reinterpret_cast<char*>(address);
}

}  // namespace

ProcessTitle::ProcessTitle(int argc, char** argv) {
  if (argc == 0) return;
  char* const first = FirstArgument();
  begin_ = first != nullptr && first < argv[0] ? first : argv[0];
  char* end = argv[0];
  // The strings follow each other in memory, unless something has replaced the pointers.
  for (int i = 0; i < argc && argv[i] == end; ++i) end += std::strlen(argv[i]) + 1;
  for (char** variable = ::environ; *variable == end; ++variable) end += std::strlen(*variable) + 1;
  size_ = static_cast<size_t>(end - begin_);
}

void ProcessTitle::Set(const std::vector<std::string>& arguments) const {
  if (size_ == 0) return;
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : " ") + argument;
  std::memset(begin_, 0, size_);
  std::memcpy(begin_, text.data(), std::min(text.size(), size_ - 1));
}

}  // namespace tony::os
