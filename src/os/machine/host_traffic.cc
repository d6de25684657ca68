// Adds up /proc/net/dev and the port counters in /sys/class/infiniband.
#include "os/machine/host_traffic.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "os/files/proc_file.h"

namespace tony::os {
namespace {

/// The type of an InfiniBand interface in /sys/class/net/NAME/type (ARPHRD_INFINIBAND).
constexpr absl::string_view kInfiniband = "32\n";
/// A port counts words of four bytes.
constexpr int64_t kBytesPerWord = 4;

int64_t Number(const std::string& path) {
  int64_t number = 0;
  return absl::SimpleAtoi(ReadProcFile(path), &number) && number > 0 ? number : 0;
}

template <typename Function>
void ForEachName(const std::string& folder, Function function) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    function(entry->path().string());
  }
}

void AddRdmaPorts(const std::string& root, HostTraffic& traffic) {
  ForEachName(root + "/sys/class/infiniband", [&](const std::string& adapter) {
    ForEachName(adapter + "/ports", [&](const std::string& port) {
      traffic.sent_bytes += Number(port + "/counters/port_xmit_data") * kBytesPerWord;
      traffic.received_bytes += Number(port + "/counters/port_rcv_data") * kBytesPerWord;
    });
  });
}

/// Adds a line such as "  eth0: RECEIVED packets errs drop fifo frame compressed multicast SENT …"
/// of the interface in `folder` (/sys/class/net/NAME).
void AddCounters(const char* counters, const std::string& folder, HostTraffic& traffic) {
  long long received = 0, sent = 0;
  const int fields =
      std::sscanf(counters, "%lld %*d %*d %*d %*d %*d %*d %*d %lld", &received, &sent);
  if (fields != 2 || ReadProcFile(folder + "/type") == kInfiniband) return;
  traffic.received_bytes += received;
  traffic.sent_bytes += sent;
}

}  // namespace

std::optional<HostTraffic> ReadHostTraffic(const std::string& root) {
  std::string table;
  if (!ReadProcFile(root + "/proc/net/dev", table)) return {};
  HostTraffic real, all;
  bool any_real = false;
  for (absl::string_view line : absl::StrSplit(table, '\n')) {
    const size_t colon = line.find(':');
    if (colon == line.npos) continue;  // one of the two headings
    const std::string name(absl::StripAsciiWhitespace(line.substr(0, colon)));
    if (name == "lo") continue;
    const std::string folder = absl::StrCat(root, "/sys/class/net/", name);
    const std::string counters(line.substr(colon + 1));
    const bool has_device = ::access((folder + "/device").c_str(), F_OK) == 0;
    any_real = any_real || has_device;
    if (has_device) AddCounters(counters.c_str(), folder, real);
    AddCounters(counters.c_str(), folder, all);
  }
  HostTraffic traffic = any_real ? real : all;
  AddRdmaPorts(root, traffic);
  return traffic;
}

}  // namespace tony::os
