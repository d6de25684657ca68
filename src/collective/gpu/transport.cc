// Asks the driver about peer access, and reads sysfs for network devices and kernel modules. Facts
// that cannot be read count as absent.
#include "collective/gpu/transport.h"

#include <algorithm>
#include <filesystem>

namespace tony::collective {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> NamesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

int PeersOf(const Device& device) {
  const CudaDriver& driver = device.driver();
  int peers = 0;
  for (int ordinal = 0; ordinal < driver.devices(); ++ordinal) {
    CudaDevice peer = 0;
    int can = 0;
    if (ordinal == device.ordinal() || driver.DeviceGet(&peer, ordinal) != kCudaSuccess) continue;
    if (driver.DeviceCanAccessPeer(&can, device.handle(), peer) == kCudaSuccess && can != 0)
      ++peers;
  }
  return peers;
}

/// GPUDirect works either through a kernel module or, on newer systems, through DMA buffers.
std::string GpuDirectOf(const Device& device, const fs::path& sys) {
  std::error_code error;
  for (const char* module : {"nvidia_peermem", "nv_peer_mem"}) {
    if (fs::exists(sys / "module" / module, error)) return std::string("module ") + module;
  }
  int supported = 0;
  const CudaResult asked = device.driver().DeviceGetAttribute(
      &supported, kCudaAttributeDmaBufSupported, device.handle());
  return asked == kCudaSuccess && supported != 0 ? "DMA buffers" : "";
}

std::string GpuText(const Transport& transport) {
  std::string text = "GPU " + std::to_string(transport.ordinal) + " (" + transport.gpu + ")";
  if (transport.devices == 1) return text + ", the only one that this process sees";
  const int others = transport.devices - 1;
  return text + ", which reaches the memory of " + std::to_string(transport.peers) + " of the " +
         std::to_string(others) + " others here";
}

std::string NetworkText(const Transport& transport) {
  if (transport.infiniband.empty()) return "no InfiniBand device, so TCP between hosts";
  std::string text = "InfiniBand or RoCE devices ";
  for (const std::string& name : transport.infiniband) {
    text += (&name == &transport.infiniband.front() ? "" : ", ") + name;
  }
  return text + (transport.gpudirect.empty()
                     ? ", without GPUDirect: neither nvidia_peermem nor DMA buffers"
                     : ", GPUDirect through " + transport.gpudirect);
}

}  // namespace

Transport DetectTransport(const NcclLibrary& nccl, const Device& device, const std::string& sys) {
  return {.nccl = nccl.version(),
          .driver = device.driver().version(),
          .gpu = device.name(),
          .ordinal = device.ordinal(),
          .devices = device.driver().devices(),
          .peers = PeersOf(device),
          .infiniband = NamesIn(fs::path(sys) / "class" / "infiniband"),
          .gpudirect = GpuDirectOf(device, sys)};
}

std::string Describe(const Transport& transport) {
  return "NCCL " + transport.nccl + " on a driver for CUDA " + transport.driver + "; " +
         GpuText(transport) + "; " + NetworkText(transport) +
         " (what NCCL takes of it, NCCL_DEBUG=INFO tells)";
}

}  // namespace tony::collective
