// Every length comes from the peer and is compared with the rest of the frame before it is used.
#include "hadoop/base/wire_frame.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "common/big_endian.h"
#include "common/status_macros.h"

namespace tony::hadoop {
namespace {

constexpr size_t kLongestVarint = 5;  // 32 bits in groups of 7, as protobuf's writeDelimitedTo()

void AppendVarint(uint32_t number, std::string* text) {
  for (; number >= 0x80; number >>= 7) text->push_back(static_cast<char>(number | 0x80));
  text->push_back(static_cast<char>(number));
}

}  // namespace

std::string Delimited(const google::protobuf::MessageLite& message) {
  // SerializePartial: a message without a required field is sent, and the server's refusal names
  // the field. SerializeAsString() would only write an error to standard error.
  return DelimitedBytes(message.SerializePartialAsString());
}

std::string DelimitedBytes(const std::string& message) {
  std::string text;
  AppendVarint(static_cast<uint32_t>(message.size()), &text);
  return text + message;
}

std::string EncodeFrame(std::initializer_list<const google::protobuf::MessageLite*> messages,
                        const std::string& body) {
  std::string content;
  for (const auto* const message : messages) content += Delimited(*message);
  content += body;
  return BigEndian(static_cast<uint32_t>(content.size())) + content;
}

absl::StatusOr<std::string> MessageReader::Bytes() {
  if (AtEnd()) return std::string();
  uint64_t length = 0;
  for (size_t i = 0;; ++i) {
    if (i == kLongestVarint || AtEnd()) {
      return absl::DataLossError("a message's length in the server's answer is none");
    }
    const auto byte = static_cast<uint8_t>(frame_[at_++]);
    length |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) break;
  }
  if (length > frame_.size() - at_) {
    return absl::DataLossError(absl::StrCat("a message of ", length, " bytes in a frame with ",
                                            frame_.size() - at_, " left"));
  }
  std::string bytes = frame_.substr(at_, length);
  at_ += length;
  return bytes;
}

absl::Status MessageReader::Read(google::protobuf::MessageLite* message) {
  TONY_ASSIGN_OR_RETURN(const std::string bytes, Bytes());
  // ParseFromString() writes the name of a missing field to standard error, so the check is made in
  // two steps.
  if (message->ParsePartialFromString(bytes) && message->IsInitialized()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(bytes.size(), " bytes of the server's answer are no ", message->GetTypeName()));
}

}  // namespace tony::hadoop
