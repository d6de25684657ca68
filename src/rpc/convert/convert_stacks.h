// Converts stacks between protobuf messages and the core's plain data.
#pragma once

#include <vector>

#include "core/stacks/stack_report.h"
#include "tony/v1/stacks.pb.h"

namespace tony::rpc {

v1::ProcessDump ToProto(const core::ProcessDump& dump);
std::vector<core::ProcessDump> FromProto(const v1::TaskStacks& stacks);
v1::StacksResponse ToProto(const core::StackReport& report);
/// Threads that refer to a stack which the message lacks are left out.
core::StackReport FromProto(const v1::StacksResponse& response);

}  // namespace tony::rpc
