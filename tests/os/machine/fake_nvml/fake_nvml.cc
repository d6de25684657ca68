// A library with the ABI of NVML, which answers from a text file named by TONY_FAKE_NVML.
//
// Each line is "INDEX NAME VALUE". A number that the file does not have is one that the GPU does
// not support; a GPU without a line does not exist. "0 init CODE": initializing fails. "0 hang
// FIFO": each question waits until somebody opens the FIFO for writing, as a broken GPU would make
// it wait for ever.
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;

/// The text behind INDEX NAME; nothing without such a line. An empty `name` stands for any.
std::optional<std::string> Find(unsigned index, const std::string& name) {
  const char* const path = std::getenv("TONY_FAKE_NVML");
  std::ifstream file(path != nullptr ? path : "");
  unsigned line_index = 0;
  std::string line_name, value;
  while (file >> line_index >> line_name >> value) {
    if (line_index == index && (name.empty() || name == line_name)) return value;
  }
  return {};
}

/// A GPU's handle is a pointer, here to a number one greater than its index.
struct Gpu;
Gpu* HandleOf(unsigned index) { return reinterpret_cast<Gpu*>(size_t{index} + 1); }

std::optional<std::string> Find(Gpu* gpu, const std::string& name) {
  if (gpu == nullptr) return {};
  const unsigned index = static_cast<unsigned>(reinterpret_cast<size_t>(gpu) - 1);
  if (const auto fifo = Find(index, "hang")) std::ifstream(*fifo).get();
  return Find(index, name);
}

template <typename Number>
int Answer(Gpu* gpu, const std::string& name, Number* number) {
  const auto value = Find(gpu, name);
  if (!value) return kNotSupported;
  *number = static_cast<Number>(std::atoll(value->c_str()));
  return kSuccess;
}

}  // namespace

extern "C" {

// Layouts of nvmlUtilization_t, nvmlMemory_t, nvmlMemory_v2_t and nvmlTemperature_v1_t. NVIDIA's
// Python binding (nvidia-ml-py 13.615) reads these libraries, too.
struct Utilization {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

struct Temperature {
  unsigned version;
  int sensor;
  int degrees;
};

int nvmlInit_v2() {
  const auto code = Find(0U, "init");
  return code ? std::atoi(code->c_str()) : kSuccess;
}

int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "Unknown Error"; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu** gpu) {
  if (!Find(index, "")) return kNotFound;
  *gpu = HandleOf(index);
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(Gpu* gpu, Utilization* rates) {
  rates->memory = 77;
  return Answer(gpu, "utilization", &rates->gpu);
}

int nvmlDeviceGetMemoryInfo(Gpu* gpu, Memory* memory) {
  memory->free = 77;
  if (Answer(gpu, "total", &memory->total) != kSuccess) return kNotSupported;
  return Answer(gpu, "used_with_reserved", &memory->used);
}

int nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* milliwatts) {
  return Answer(gpu, "milliwatts", milliwatts);
}

#ifdef FAKE_NVML_OLD
int nvmlDeviceGetTemperature(Gpu* gpu, int sensor, unsigned* degrees) {
  return sensor == 0 ? Answer(gpu, "temperature", degrees) : kInvalidArgument;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu* gpu, unsigned long long* reasons) {
  return Answer(gpu, "reasons", reasons);
}
#else
int nvmlDeviceGetMemoryInfo_v2(Gpu* gpu, MemoryV2* memory) {
  if (memory->version != (sizeof(MemoryV2) | 2U << 24)) return kInvalidArgument;
  memory->reserved = memory->free = 77;
  if (Answer(gpu, "total", &memory->total) != kSuccess) return kNotSupported;
  return Answer(gpu, "used", &memory->used);
}

int nvmlDeviceGetTemperatureV(Gpu* gpu, Temperature* temperature) {
  if (temperature->version != (sizeof(Temperature) | 1U << 24)) return kInvalidArgument;
  if (temperature->sensor != 0) return kInvalidArgument;
  return Answer(gpu, "temperature", &temperature->degrees);
}

int nvmlDeviceGetCurrentClocksEventReasons(Gpu* gpu, unsigned long long* reasons) {
  return Answer(gpu, "reasons", reasons);
}

int nvmlDeviceGetTotalEccErrors(Gpu* gpu, int error, int counter, unsigned long long* count) {
  // Uncorrected ones since the driver was loaded.
  return error == 1 && counter == 0 ? Answer(gpu, "ecc", count) : kInvalidArgument;
}
#endif

}  // extern "C"
