// Converts blocks of lines of a log to their messages and back.
#pragma once

#include "absl/status/statusor.h"
#include "logs/log_block.h"
#include "tony/v1/log_query.pb.h"

namespace tony::rpc {

/// The answer without its request's number; a block, or the reason why there is none.
v1::LogLines ToProto(absl::StatusOr<logs::LogBlock> block);
/// The answer that says why there is none; `status` is no success.
v1::LogLines ToProto(const absl::Status& status);
/// The reason of an answer that says why there is none: NotFound – or another code that the message
/// holds; OK for others.
absl::Status StatusOf(const v1::LogLines& lines);
/// Returns the block; NotFound – or another code that the message holds, with its reason.
absl::StatusOr<logs::LogBlock> FromProto(v1::LogLines lines);

}  // namespace tony::rpc
