#include "os/machine/rdma_ports.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <tuple>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "os/files/files.h"

namespace tony::os {
namespace {

/// The content of a file of sysfs without its line's end; empty if it cannot be read.
std::string Value(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

/// The names in a folder; none if it cannot be read.
std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

/// The device file of each adapter that has one.
std::map<std::string, std::string> VerbsFiles(const std::string& root) {
  std::map<std::string, std::string> files;
  const std::string folder = root + "/sys/class/infiniband_verbs";
  for (const std::string& name : Names(folder)) {
    if (!absl::StartsWith(name, "uverbs")) continue;
    files[Value(absl::StrCat(folder, "/", name, "/ibdev"))] =
        absl::StrCat(root, "/dev/infiniband/", name);
  }
  return files;
}

/// `state` is "4: ACTIVE".
std::string StateWord(const std::string& state) {
  return state.substr(std::min(state.size(), state.find(' ') + 1));
}

}  // namespace

std::vector<RdmaPort> FindRdmaPorts(const std::string& root) {
  std::vector<RdmaPort> ports;
  const std::map<std::string, std::string> files = VerbsFiles(root);
  const std::string adapters = root + "/sys/class/infiniband";
  for (const std::string& device : Names(adapters)) {
    const std::string folder = absl::StrCat(adapters, "/", device, "/ports");
    for (const std::string& name : Names(folder)) {
      RdmaPort port;
      if (!absl::SimpleAtoi(name, &port.number)) continue;
      port.device = device;
      port.state = StateWord(Value(absl::StrCat(folder, "/", name, "/state")));
      port.active = port.state == "ACTIVE";
      port.link_layer = Value(absl::StrCat(folder, "/", name, "/link_layer"));
      port.rate = Value(absl::StrCat(folder, "/", name, "/rate"));
      const auto file = files.find(device);
      if (file != files.end()) port.verbs_file = file->second;
      ports.push_back(std::move(port));
    }
  }
  std::sort(ports.begin(), ports.end(), [](const RdmaPort& a, const RdmaPort& b) {
    return std::tie(a.device, a.number) < std::tie(b.device, b.number);
  });
  return ports;
}

}  // namespace tony::os
