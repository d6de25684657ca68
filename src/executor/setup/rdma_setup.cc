#include "executor/setup/rdma_setup.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "os/files/unique_fd.h"
#include "os/machine/rdma_ports.h"

namespace tony::executor {
namespace {

constexpr char kRemedy[] =
    "ask for machines that have one (tony.yarn.…labels), or set tony.application.rdma to false";
// Every connection locks a few MB for its queues; NCCL's buffers are 4 MiB a channel and peer.
constexpr rlim_t kLeastLockable = rlim_t{64} << 20;

std::string Name(const os::RdmaPort& port) { return absl::StrCat(port.device, ":", port.number); }

std::string States(const std::vector<os::RdmaPort>& ports) {
  return absl::StrJoin(ports, ", ", [](std::string* text, const os::RdmaPort& port) {
    absl::StrAppend(text, Name(port), " is ", port.state.empty() ? "unknown" : port.state);
  });
}

/// Why the user cannot open the adapter's device file; empty: it can.
std::string Obstacle(const os::RdmaPort& port) {
  if (port.verbs_file.empty()) return "the kernel has no device file for it (ib_uverbs is missing)";
  const os::UniqueFd file(::open(port.verbs_file.c_str(), O_RDWR | O_CLOEXEC));
  if (file.valid()) return "";
  return absl::StrCat(port.verbs_file, ": ", std::strerror(errno));
}

std::string Described(const os::RdmaPort& port) {
  return absl::StrCat(Name(port), " (", port.link_layer, ", ", port.rate, ")");
}

}  // namespace

rlim_t LockableMemory() {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 ? limit.rlim_cur : 0;
}

absl::StatusOr<RdmaSetup> SetUpRdma(const core::Environment& of_job, const std::string& root,
                                    rlim_t lockable) {
  const std::vector<os::RdmaPort> ports = os::FindRdmaPorts(root);
  if (ports.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "tony.application.rdma is true, and this machine has no adapter for RDMA: ", kRemedy));
  }
  std::vector<std::string> names;
  std::vector<std::string> described;
  std::string obstacle;
  for (const os::RdmaPort& port : ports) {
    if (!port.active) continue;
    if (const std::string why = Obstacle(port); !why.empty()) {
      obstacle = absl::StrCat(Name(port), " cannot be used: ", why);
      continue;
    }
    names.push_back(Name(port));
    described.push_back(Described(port));
  }
  if (names.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "tony.application.rdma is true, and this machine has no active adapter for RDMA (",
        obstacle.empty() ? States(ports) : obstacle, "): ", kRemedy));
  }
  if (lockable < kLeastLockable) {
    return absl::FailedPreconditionError(absl::StrCat(
        "tony.application.rdma is true, and programs may lock only ", lockable >> 10,
        " KiB of memory here: raise the hard limit (memlock in /etc/security/limits.conf; for YARN "
        "LimitMEMLOCK of the NodeManager's service)"));
  }
  RdmaSetup setup;
  const std::string all = absl::StrJoin(names, ",");
  // With "=" NCCL takes exactly these names; without it, it takes all that begin like them.
  const core::Environment wanted = {{"NCCL_IB_HCA", absl::StrCat("=", all)},
                                    {"UCX_NET_DEVICES", all}};
  for (const auto& [name, value] : wanted) {
    if (of_job.count(name) == 0) setup.variables[name] = value;
  }
  setup.sentence = absl::StrCat(
      "RDMA by ", absl::StrJoin(described, ", "), "; ",
      lockable == RLIM_INFINITY ? "any amount of" : absl::StrCat(lockable >> 20, " MiB of"),
      " memory may be locked");
  return setup;
}

}  // namespace tony::executor
