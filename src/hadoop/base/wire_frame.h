// Frames of Hadoop's RPC: a length of four bytes, then messages that each begin with their own
// length.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/frame_reader.h"

namespace tony::hadoop {

/// A frame of `messages`, followed by `body`, which consists of delimited messages already.
std::string EncodeFrame(std::initializer_list<const google::protobuf::MessageLite*> messages,
                        const std::string& body = "");

/// `message` with its length as a varint in front.
std::string Delimited(const google::protobuf::MessageLite& message);
/// The same for a message that is serialized already.
std::string DelimitedBytes(const std::string& message);

/// Reads the messages of one frame, in order. Not thread safe.
class MessageReader {
 public:
  /// `frame` must outlive the reader.
  explicit MessageReader(const std::string& frame) : frame_(frame) {}

  bool AtEnd() const { return at_ == frame_.size(); }
  /// The next message's bytes. They are empty at the end of the frame, since Hadoop leaves an empty
  /// message out. DataLoss – the length is malformed, or more than is left.
  absl::StatusOr<std::string> Bytes();
  /// Parses the next message. DataLoss – the codes of Bytes(), or the bytes are no such message.
  absl::Status Read(google::protobuf::MessageLite* message);

 private:
  const std::string& frame_;
  size_t at_ = 0;
};

}  // namespace tony::hadoop
