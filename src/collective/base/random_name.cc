// Takes 16 bytes from getrandom(2) and writes them in hexadecimal.
#include "collective/base/random_name.h"

#include <sys/random.h>

#include <array>

namespace tony::collective {

Result<std::string> RandomName() {
  std::array<unsigned char, 16> random{};
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    return Status(Code::kInternal, "no random numbers");
  }
  std::string name;
  for (const unsigned char byte : random) {
    for (const int half : {byte >> 4, byte & 15}) name += "0123456789abcdef"[half];
  }
  return name;
}

}  // namespace tony::collective
