// Frames are length-prefixed protobuf messages. The head of a put is encoded by hand, so that a
// large value is shared by all replicas' frames instead of being copied into each.
#include "rpc/convert/convert_rendezvous.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "common/big_endian.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/utf8.h"

namespace tony::rpc {
namespace {

using WireFormat = google::protobuf::internal::WireFormatLite;

v1::RendezvousSlot ToProto(const core::Slot& slot) {
  v1::RendezvousSlot proto;
  proto.set_host(ToUtf8(slot.host));
  proto.set_rank(slot.rank);
  proto.set_size(slot.size);
  proto.set_local_rank(slot.local_rank);
  proto.set_local_size(slot.local_size);
  proto.set_cross_rank(slot.cross_rank);
  proto.set_cross_size(slot.cross_size);
  return proto;
}

core::Slot FromProto(const v1::RendezvousSlot& proto) {
  return {proto.host(),       proto.rank(),       proto.size(),      proto.local_rank(),
          proto.local_size(), proto.cross_rank(), proto.cross_size()};
}

template <typename Slots>
std::vector<core::Slot> SlotsIn(const Slots& protos) {
  std::vector<core::Slot> slots;
  for (const v1::RendezvousSlot& slot : protos) slots.push_back(FromProto(slot));
  return slots;
}

struct OperationWriter {
  v1::StoreOperation& proto;

  void operator()(const core::BeginRound& begin) {
    v1::StoreOperation::Round* round = proto.mutable_begin();
    for (const core::Slot& slot : begin.plan) *round->add_plan() = ToProto(slot);
  }
  void operator()(const core::PutValue& put) {
    proto.mutable_put()->set_scope(put.scope);
    proto.mutable_put()->set_key(put.key);
    proto.mutable_put()->set_value(*put.value);
  }
  void operator()(const core::RemoveValue& remove) {
    proto.mutable_remove()->set_scope(remove.scope);
    proto.mutable_remove()->set_key(remove.key);
  }
};

/// Moves the value out of `proto`.
absl::StatusOr<core::StoreOperation> OperationIn(v1::StoreOperation& proto) {
  switch (proto.body_case()) {
    case v1::StoreOperation::kBegin:
      return core::BeginRound{SlotsIn(proto.begin().plan())};
    case v1::StoreOperation::kPut: {
      v1::StoreOperation::Put& put = *proto.mutable_put();
      auto value = std::make_shared<const std::string>(std::move(*put.mutable_value()));
      return core::PutValue{put.scope(), put.key(), std::move(value)};
    }
    case v1::StoreOperation::kRemove:
      return core::RemoveValue{proto.remove().scope(), proto.remove().key()};
    case v1::StoreOperation::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a change of the rendezvous store is of an unknown kind");
}

/// Appends the tag and the length of a field; the field's bytes follow.
void BeginField(int number, size_t bytes, std::string& text) {
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.WriteTag(WireFormat::MakeTag(number, WireFormat::WIRETYPE_LENGTH_DELIMITED));
  coded.WriteVarint64(bytes);
}

/// The bytes that protobuf's own serialization would write, without the value at their end.
std::string HeadOf(const core::PutValue& put) {
  v1::StoreOperation::Put proto;
  proto.set_scope(put.scope);
  proto.set_key(put.key);
  std::string inner = proto.SerializeAsString();
  const size_t value_bytes = put.value->size();
  BeginField(v1::StoreOperation::Put::kValueFieldNumber, value_bytes, inner);
  std::string operation;
  BeginField(v1::StoreOperation::kPutFieldNumber, inner.size() + value_bytes, operation);
  operation += inner;
  std::string message;
  BeginField(v1::ReplicaMessage::kOperationFieldNumber, operation.size() + value_bytes, message);
  message += operation;
  return BigEndian(static_cast<uint32_t>(message.size() + value_bytes)) + message;
}

std::string Frame(const google::protobuf::MessageLite& message) {
  return BigEndian(static_cast<uint32_t>(message.ByteSizeLong())) + message.SerializeAsString();
}

absl::Status NotOfProtocol() {
  return absl::InvalidArgumentError("a message of the rendezvous store cannot be read");
}

struct RequestWriter {
  v1::ReplicaRequest& proto;

  void operator()(const core::ChangeRequest& request) {
    proto.mutable_change()->set_id(request.id);
    std::visit(OperationWriter{*proto.mutable_change()->mutable_operation()}, request.change);
  }
  void operator()(const core::AskedFor& asked) {
    proto.mutable_asked()->set_scope(asked.scope);
    proto.mutable_asked()->set_key(asked.key);
  }
};

struct MessageWriter {
  v1::ReplicaMessage& proto;

  void operator()(core::SnapshotMark mark) {
    proto.set_mark(mark == core::SnapshotMark::kBegin ? v1::ReplicaMessage::BEGIN
                                                      : v1::ReplicaMessage::END);
  }
  void operator()(const core::StoreOperation& operation) {
    std::visit(OperationWriter{*proto.mutable_operation()}, operation);
  }
  void operator()(const core::ChangeDone& done) {
    proto.mutable_done()->set_id(done.id);
    proto.mutable_done()->set_code(done.status.raw_code());
    proto.mutable_done()->set_why(ToUtf8(std::string(done.status.message())));
  }
};

}  // namespace

v1::RendezvousPlan ToProto(const core::RendezvousPlan& plan) {
  v1::RendezvousPlan proto;
  proto.set_port(plan.port);
  proto.set_loopback(plan.loopback);
  for (const core::Slot& slot : plan.slots) *proto.add_slots() = ToProto(slot);
  proto.set_round(plan.round);
  for (const std::string& member : plan.members) proto.add_members(ToUtf8(member));
  return proto;
}

core::RendezvousPlan FromProto(const v1::RendezvousPlan& proto) {
  return {proto.port(),
          proto.loopback(),
          SlotsIn(proto.slots()),
          proto.round(),
          {proto.members().begin(), proto.members().end()}};
}

std::string ToFrame(const core::ReplicaRequest& request) {
  v1::ReplicaRequest proto;
  std::visit(RequestWriter{proto}, request);
  return Frame(proto);
}

ReplicaFrame ToFrame(const core::ReplicaMessage& message) {
  const auto* operation = std::get_if<core::StoreOperation>(&message);
  const auto* put = operation == nullptr ? nullptr : std::get_if<core::PutValue>(operation);
  if (put != nullptr) return {HeadOf(*put), put->value};
  v1::ReplicaMessage proto;
  std::visit(MessageWriter{proto}, message);
  return {Frame(proto), nullptr};
}

std::string SignOfLife() { return Frame(v1::ReplicaRequest()); }

absl::StatusOr<std::optional<core::ReplicaRequest>> ReplicaRequestIn(const std::string& frame) {
  v1::ReplicaRequest proto;
  if (!proto.ParseFromString(frame)) return NotOfProtocol();
  switch (proto.body_case()) {
    case v1::ReplicaRequest::kAsked:
      return core::AskedFor{proto.asked().scope(), proto.asked().key()};
    case v1::ReplicaRequest::BODY_NOT_SET:
      return std::nullopt;
    case v1::ReplicaRequest::kChange:
      break;
  }
  TONY_ASSIGN_OR_RETURN(core::StoreOperation operation,
                        OperationIn(*proto.mutable_change()->mutable_operation()));
  core::ChangeRequest request{proto.change().id(), {}};
  if (auto* put = std::get_if<core::PutValue>(&operation)) {
    request.change = std::move(*put);
  } else if (auto* remove = std::get_if<core::RemoveValue>(&operation)) {
    request.change = std::move(*remove);
  } else {
    return absl::InvalidArgumentError("a replica of the rendezvous store cannot begin a round");
  }
  return request;
}

absl::StatusOr<core::ReplicaMessage> ReplicaMessageIn(const std::string& frame) {
  v1::ReplicaMessage proto;
  if (!proto.ParseFromString(frame)) return NotOfProtocol();
  switch (proto.body_case()) {
    case v1::ReplicaMessage::kMark:
      return proto.mark() == v1::ReplicaMessage::BEGIN ? core::SnapshotMark::kBegin
                                                       : core::SnapshotMark::kEnd;
    case v1::ReplicaMessage::kOperation: {
      TONY_ASSIGN_OR_RETURN(core::StoreOperation operation,
                            OperationIn(*proto.mutable_operation()));
      return operation;
    }
    case v1::ReplicaMessage::kDone: {
      const auto code = static_cast<absl::StatusCode>(proto.done().code());
      return core::ChangeDone{proto.done().id(), absl::Status(code, proto.done().why())};
    }
    case v1::ReplicaMessage::BODY_NOT_SET:
      break;
  }
  return NotOfProtocol();
}

}  // namespace tony::rpc
