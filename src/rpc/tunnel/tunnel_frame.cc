// Every kind of frame is one field of variable length, which begins with the field's tag and the
// number of its bytes; see https://protobuf.dev/programming-guides/encoding.
#include "rpc/tunnel/tunnel_frame.h"

#include <iterator>
#include <memory>
#include <utility>

#include "google/protobuf/io/coded_stream.h"
#include "grpcpp/impl/codegen/proto_utils.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace tony::rpc {
namespace {

using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;
using FrameTraits = grpc::SerializationTraits<v1::TunnelFrame>;

/// The longest tag and length: two varints of 32 bits.
constexpr size_t kMostHeadBytes = 10;
/// A tag is the field's number, and in its low bits how the field is encoded.
constexpr uint32_t kNumberShift = 3;
constexpr uint32_t kEncodingMask = 7;
constexpr uint32_t kVariableLength = 2;

grpc::Slice DataHead(size_t size) {
  uint8_t head[kMostHeadBytes];
  const uint32_t tag = v1::TunnelFrame::kDataFieldNumber << kNumberShift | kVariableLength;
  uint8_t* end = CodedOutputStream::WriteVarint32ToArray(tag, head);
  end = CodedOutputStream::WriteVarint32ToArray(static_cast<uint32_t>(size), end);
  return grpc::Slice(head, static_cast<size_t>(end - head));
}

/// A slice that owns the string.
grpc::Slice SliceOf(std::unique_ptr<std::string> bytes) {
  char* const begin = bytes->data();
  const size_t size = bytes->size();
  return grpc::Slice(
      begin, size, [](void* owned) { delete static_cast<std::string*>(owned); }, bytes.release());
}

}  // namespace

v1::TunnelFrame::BodyCase KindOf(const grpc::ByteBuffer& frame) {
  grpc::ByteBuffer shared = frame;  // the reader takes no constant one, but changes nothing
  grpc::ProtoBufferReader reader(&shared);
  CodedInputStream input(&reader);
  uint32_t size = 0;
  const uint32_t tag = input.ReadTag();
  if ((tag & kEncodingMask) != kVariableLength || !input.ReadVarint32(&size) ||
      static_cast<size_t>(input.CurrentPosition()) + size != frame.Length()) {
    return v1::TunnelFrame::BODY_NOT_SET;
  }
  return static_cast<v1::TunnelFrame::BodyCase>(tag >> kNumberShift);
}

grpc::ByteBuffer Serialize(v1::TunnelFrame frame) {
  if (frame.has_data()) {
    auto data = std::make_unique<std::string>(std::move(*frame.mutable_data()));
    const size_t size = data->size();
    const grpc::Slice slices[] = {DataHead(size), SliceOf(std::move(data))};
    return grpc::ByteBuffer(slices, std::size(slices));
  }
  grpc::ByteBuffer buffer;
  bool owned = false;
  // A message of ours can always be serialized.
  (void)FrameTraits::Serialize(frame, &buffer, &owned);
  return buffer;
}

absl::StatusOr<v1::TunnelFrame> ParseFrame(grpc::ByteBuffer frame) {
  v1::TunnelFrame parsed;
  if (!FrameTraits::Deserialize(&frame, &parsed).ok()) {
    return absl::InvalidArgumentError("a message of a tunnel is no frame");
  }
  return parsed;
}

}  // namespace tony::rpc
