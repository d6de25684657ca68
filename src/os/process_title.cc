// Linux takes a command line that does not end with NUL where the arguments ended to go on into the
// environment: proc(5).
#include "os/process_title.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tony::os {

ProcessTitle::ProcessTitle(int argc, char** argv) {
  if (argc == 0) return;
  begin_ = argv[0];
  char* end = begin_;
  // One after the other, unless somebody has put other strings in their place.
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
