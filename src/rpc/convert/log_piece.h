// Pieces of logs as they are sent.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "logs/container_logs.h"
#include "logs/log_feed.h"
#include "tony/v1/application_master.pb.h"

namespace tony::rpc {

v1::LogPiece ToProto(logs::LogPiece piece);
/// InvalidArgument – of no file that there can be.
absl::StatusOr<logs::LogPiece> FromProto(v1::LogPiece piece);

/// The name of an ApplicationMaster in LogWish::container. No container of a task has it.
std::string MasterContainer(int incarnation);

/// Whether `wish` means the file.
bool IsWanted(const v1::LogWish& wish, const logs::ContainerLogFile& file);

}  // namespace tony::rpc
