// Frames of a tunnel as gRPC carries them: serialized, in slices that are shared, not copied.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/support/byte_buffer.h"
#include "tony/v1/application_master.pb.h"

namespace tony::rpc {

/// The kind of a frame, read from its first bytes. BODY_NOT_SET: it is not exactly one field, so it
/// is no frame. Frames that are only passed on need not be parsed, because parsing and serializing
/// would copy their bytes twice.
v1::TunnelFrame::BodyCase KindOf(const grpc::ByteBuffer& frame);

/// Serializes a frame. The bytes of a `data` frame become a part of the result without a copy.
grpc::ByteBuffer Serialize(v1::TunnelFrame frame);

/// InvalidArgument – the bytes are no frame.
absl::StatusOr<v1::TunnelFrame> ParseFrame(grpc::ByteBuffer frame);

}  // namespace tony::rpc
