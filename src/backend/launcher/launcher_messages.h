// The packets between an ApplicationMaster and an external launcher (docs/design/launcher.md).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/ports/cluster_backend.h"

namespace tony::backend {

/// The version of the protocol, which the first packet names.
inline constexpr int kLauncherVersion = 1;
/// The longest packet in bytes.
inline constexpr size_t kMostPacketBytes = 64 << 10;

/// A file that each container's working folder must have. Plain data.
struct LauncherFile {
  std::string name;  ///< in the working folder, "" is not allowed
  std::string path;  ///< on the launcher's machine
};

std::string HelloPacket(const std::string& job_id, int incarnation,
                        const std::vector<std::string>& containers);
std::string FilePacket(const LauncherFile& file);
std::string StartPacket(const std::string& container_id, const core::ContainerRequest& request,
                        const std::string& voucher);
/// `gone`: the container's executor has said that it ends.
std::string KillPacket(const std::string& container_id, bool gone);

// The reports that a launcher sends.
struct ContainerReport {
  std::string container_id;
  core::ContainerEnd end;
};
struct WaitingReport {
  std::string sentence;
  std::string unblock;
};
struct RefusalReport {
  bool never_fits = false;
  std::string sentence;
};
/// A packet of a type that this version does not know.
struct UnknownReport {
  std::string type;
};
using LauncherReport = std::variant<ContainerReport, WaitingReport, RefusalReport, UnknownReport>;

/// Texts of the result have no control characters. InvalidArgument – the packet is no JSON object,
/// or lacks a member.
absl::StatusOr<LauncherReport> ParseReport(const std::string& packet);

}  // namespace tony::backend
