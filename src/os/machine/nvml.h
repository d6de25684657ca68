// What the NVIDIA driver's library (NVML) says of the machine's GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tony::os {

/// One GPU now. -1: the driver does not say. A plain value.
struct GpuReading {
  int index = 0;                    ///< as nvidia-smi counts
  double utilization_percent = -1;  ///< of the time in which a kernel ran
  int64_t memory_used_bytes = -1;   ///< without what the driver itself has reserved
  int64_t memory_total_bytes = -1;
  double power_watts = -1;
  double temperature_celsius = -1;
  int64_t slowed = -1;      ///< bits of nvmlClocksThrottleReasons*
  int64_t ecc_errors = -1;  ///< uncorrected, since the driver was loaded

  bool operator==(const GpuReading&) const = default;
};

/// The library's name for the loader.
inline constexpr char kNvmlLibrary[] = "libnvidia-ml.so.1";

/// Loaded at run time, so that programs start without it; nothing of NVIDIA's is needed to build.
/// Each call may hang with a broken GPU or driver: call it from a thread that nobody waits for. Not
/// thread safe.
class Nvml {
 public:
  /// Loads and initializes `file`, which takes up to seconds. It stays initialized until the
  /// process ends: a call that hangs elsewhere may hold the library's lock. FailedPrecondition – it
  /// is not there, lacks functions, or finds no driver.
  static absl::StatusOr<std::unique_ptr<Nvml>> Open(const std::string& file = kNvmlLibrary);
  ~Nvml();

  /// One reading for each index. Of a GPU that is lost, or not there, nothing is known.
  std::vector<GpuReading> Read(const std::vector<int>& indices) const;

 private:
  struct Functions;
  explicit Nvml(std::unique_ptr<Functions> functions);

  std::unique_ptr<Functions> functions_;
};

}  // namespace tony::os
