// The machine's ports for remote direct memory access: InfiniBand, and Ethernet with RoCE.
#pragma once

#include <string>
#include <vector>

namespace tony::os {

/// One port of an adapter, as the kernel reports it in /sys/class/infiniband.
struct RdmaPort {
  std::string device;      ///< "mlx5_0"
  int number = 0;          ///< of the port, from 1
  bool active = false;     ///< the link is up
  std::string state;       ///< the kernel's word: "ACTIVE", "DOWN", "INIT", …
  std::string link_layer;  ///< "InfiniBand" or "Ethernet"
  std::string rate;        ///< "100 Gb/sec (4X EDR)"
  std::string verbs_file;  ///< the device file for programs; empty: the kernel has none
};

/// The ports of all adapters, by name and number; none if the kernel knows no adapter. `root`: the
/// root of the file system.
std::vector<RdmaPort> FindRdmaPorts(const std::string& root);

}  // namespace tony::os
