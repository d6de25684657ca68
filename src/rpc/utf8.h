// Makes any bytes fit for a protobuf string, which must be UTF-8.
#pragma once

#include <string>

namespace tony::rpc {

/// `text`, with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string ToUtf8(const std::string& text);

}  // namespace tony::rpc
