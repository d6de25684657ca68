// Converts pieces of logs to their messages and back.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "logs/container_logs.h"
#include "logs/log_feed.h"
#include "tony/v1/application_master.pb.h"

namespace tony::rpc {

v1::LogPiece ToProto(logs::LogPiece piece);
/// InvalidArgument – the piece belongs to no possible log file.
absl::StatusOr<logs::LogPiece> FromProto(v1::LogPiece piece);

/// The name that stands for the ApplicationMaster `incarnation` in LogWish::container. No task's
/// container has such a name.
std::string MasterContainer(int incarnation);

/// Whether `wish` asks for the file.
bool IsWanted(const v1::LogWish& wish, const logs::ContainerLogFile& file);

}  // namespace tony::rpc
