// Converts tokens from and to Hadoop's message TokenProto.
#pragma once

#include "hadoop/auth/token.h"
#include "hadoop/common/security.pb.h"

namespace tony::hadoop {

Token TokenOf(const ::hadoop::common::TokenProto& message);
::hadoop::common::TokenProto MessageOf(const Token& token);

}  // namespace tony::hadoop
