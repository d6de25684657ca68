// Makes any bytes fit for a protobuf string, which must be UTF-8.
#pragma once

#include "common/utf8.h"

namespace tony::rpc {

using tony::ToUtf8;

}  // namespace tony::rpc
