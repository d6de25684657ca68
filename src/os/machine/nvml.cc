// Our own declarations of the few functions that are used, from NVIDIA's public documentation
// ("NVML API Reference Guide"). Names ending in _v2 are what the names without it mean in nvml.h:
// the library keeps older versions of a function under the bare name.
#include "os/machine/nvml.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/processes/shared_library.h"

namespace tony::os {
namespace {

// nvmlReturn_t, and the values of enumerations that are used.
using Result = int;
constexpr Result kSuccess = 0;
constexpr int kTemperatureOfGpu = 0;   // NVML_TEMPERATURE_GPU
constexpr int kUncorrectedErrors = 1;  // NVML_MEMORY_ERROR_TYPE_UNCORRECTED
constexpr int kVolatileErrors = 0;     // NVML_VOLATILE_ECC: since the driver was loaded

using Device = struct NvmlDevice*;  // nvmlDevice_t

struct Utilization {  // nvmlUtilization_t
  unsigned gpu = 0;
  unsigned memory = 0;
};
struct Memory {  // nvmlMemory_t; `used` has the driver's reserve in it
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
struct MemoryV2 {  // nvmlMemory_v2_t, since driver 510
  unsigned version = 0;
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
static_assert(sizeof(MemoryV2) == 40);
struct Temperature {  // nvmlTemperature_v1_t, of newer drivers
  unsigned version = 0;
  int sensor = kTemperatureOfGpu;
  int degrees = 0;
};
static_assert(sizeof(Temperature) == 12);
constexpr unsigned kTemperatureV1 = sizeof(Temperature) | 1U << 24;  // NVML_STRUCT_VERSION
constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | 2U << 24;  // NVML_STRUCT_VERSION(Memory, 2)

}  // namespace

/// Null: the driver is older than the function. Those above the line are in every driver.
struct Nvml::Functions {
  Result (*init)() = nullptr;
  Result (*handle)(unsigned index, Device*) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  // ----
  Result (*utilization)(Device, Utilization*) = nullptr;
  Result (*memory)(Device, Memory*) = nullptr;
  Result (*memory_v2)(Device, MemoryV2*) = nullptr;
  Result (*power)(Device, unsigned* milliwatts) = nullptr;
  // The first is to be removed with CUDA 14; older drivers lack the second.
  Result (*temperature)(Device, int sensor, unsigned* degrees) = nullptr;
  Result (*temperature_v)(Device, Temperature*) = nullptr;
  Result (*throttle_reasons)(Device, unsigned long long* reasons) = nullptr;
  Result (*ecc_errors)(Device, int error, int counter, unsigned long long* count) = nullptr;

  void ReadMemory(Device device, GpuReading& gpu) const;
  void ReadTemperature(Device device, GpuReading& gpu) const;
};

namespace {

/// Whether `function` has set `value`: not if the driver has no such function, or the GPU no such
/// sensor.
template <typename Function, typename Value, typename... Arguments>
bool Ask(Function* function, Value& value, Device device, Arguments... arguments) {
  return function != nullptr && function(device, arguments..., &value) == kSuccess;
}

}  // namespace

Nvml::Nvml(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}

Nvml::~Nvml() = default;

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Open(const std::string& file) {
  TONY_ASSIGN_OR_RETURN(
      SharedLibrary library,
      SharedLibrary::Open({file.c_str()}, "the driver's library tells of GPUs", "libnvidia-ml1"));
  auto functions = std::make_unique<Functions>();
  library.Find("nvmlInit_v2", &functions->init);
  library.Find("nvmlDeviceGetHandleByIndex_v2", &functions->handle);
  library.Find("nvmlErrorString", &functions->error_string);
  TONY_RETURN_IF_ERROR(library.status());
  // The result of these does not matter: see Functions.
  library.Find("nvmlDeviceGetUtilizationRates", &functions->utilization);
  library.Find("nvmlDeviceGetMemoryInfo", &functions->memory);
  library.Find("nvmlDeviceGetMemoryInfo_v2", &functions->memory_v2);
  library.Find("nvmlDeviceGetPowerUsage", &functions->power);
  library.Find("nvmlDeviceGetTemperature", &functions->temperature);
  library.Find("nvmlDeviceGetTemperatureV", &functions->temperature_v);
  // Its newer name, since driver 535, and the older one.
  library.Find("nvmlDeviceGetCurrentClocksEventReasons", &functions->throttle_reasons);
  if (functions->throttle_reasons == nullptr) {
    library.Find("nvmlDeviceGetCurrentClocksThrottleReasons", &functions->throttle_reasons);
  }
  library.Find("nvmlDeviceGetTotalEccErrors", &functions->ecc_errors);
  if (const Result result = functions->init(); result != kSuccess) {
    return absl::FailedPreconditionError(absl::StrCat(
        file, " cannot be initialized: ", functions->error_string(result), " (", result, ")"));
  }
  return std::unique_ptr<Nvml>(new Nvml(std::move(functions)));
}

/// The first version's `used` includes what the driver has reserved.
void Nvml::Functions::ReadMemory(Device device, GpuReading& gpu) const {
  MemoryV2 amounts{.version = kMemoryV2};
  Memory older;
  if (Ask(memory_v2, amounts, device)) {
    gpu.memory_total_bytes = static_cast<int64_t>(amounts.total);
    gpu.memory_used_bytes = static_cast<int64_t>(amounts.used);
  } else if (Ask(memory, older, device)) {
    gpu.memory_total_bytes = static_cast<int64_t>(older.total);
    gpu.memory_used_bytes = static_cast<int64_t>(older.used);
  }
}

void Nvml::Functions::ReadTemperature(Device device, GpuReading& gpu) const {
  Temperature sensor{.version = kTemperatureV1};
  unsigned degrees = 0;
  if (Ask(temperature_v, sensor, device)) {
    gpu.temperature_celsius = sensor.degrees;
  } else if (Ask(temperature, degrees, device, kTemperatureOfGpu)) {
    gpu.temperature_celsius = degrees;
  }
}

std::vector<GpuReading> Nvml::Read(const std::vector<int>& indices) const {
  std::vector<GpuReading> readings;
  for (const int index : indices) {
    GpuReading& gpu = readings.emplace_back();
    gpu.index = index;
    Device device = nullptr;
    // The handle is asked for each time: a GPU that was reset has another one, and asking is cheap.
    if (functions_->handle(static_cast<unsigned>(index), &device) != kSuccess) continue;
    functions_->ReadMemory(device, gpu);
    Utilization rates;
    if (Ask(functions_->utilization, rates, device)) gpu.utilization_percent = rates.gpu;
    unsigned number = 0;
    if (Ask(functions_->power, number, device)) gpu.power_watts = number / 1000.0;
    functions_->ReadTemperature(device, gpu);
    unsigned long long large = 0;
    if (Ask(functions_->throttle_reasons, large, device)) gpu.slowed = static_cast<int64_t>(large);
    if (Ask(functions_->ecc_errors, large, device, kUncorrectedErrors, kVolatileErrors)) {
      gpu.ecc_errors = static_cast<int64_t>(large);
    }
  }
  return readings;
}

}  // namespace tony::os
