// libFuzzer's entry to one target; TONY_FUZZ_RUN is the target's function.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

// libFuzzer calls it by this name.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tony::fuzz::TONY_FUZZ_RUN({reinterpret_cast<const char*>(data), size});
  return 0;
}
