// Hadoop's frames: a length of four bytes, then messages that each begin with their own length.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/frame_reader.h"

namespace tony::hadoop {

/// A frame with `messages`, and after them `body`, bytes that are delimited already.
std::string EncodeFrame(std::initializer_list<const google::protobuf::MessageLite*> messages,
                        const std::string& body = "");

/// `message` with its length in front.
std::string Delimited(const google::protobuf::MessageLite& message);
/// The same for a message that is serialized already.
std::string DelimitedBytes(const std::string& message);

/// Reads the messages of one frame, in order. Not thread safe.
class MessageReader {
 public:
  /// `frame` must outlive it.
  explicit MessageReader(const std::string& frame) : frame_(frame) {}

  bool AtEnd() const { return at_ == frame_.size(); }
  /// The next message's bytes, empty at the frame's end, as Hadoop leaves empty messages out.
  /// DataLoss – its length is none, or more than is left.
  absl::StatusOr<std::string> Bytes();
  /// The next message. DataLoss – as Bytes, or it is no such message.
  absl::Status Read(google::protobuf::MessageLite* message);

 private:
  const std::string& frame_;
  size_t at_ = 0;
};

}  // namespace tony::hadoop
