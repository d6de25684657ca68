// Hadoop's frames: a length of four bytes, then messages that each begin with their own length.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::hadoop {

/// A frame with `messages`, and after them `body`, bytes that are delimited already.
std::string EncodeFrame(std::initializer_list<const google::protobuf::MessageLite*> messages,
                        const std::string& body = "");

/// `message` with its length in front.
std::string Delimited(const google::protobuf::MessageLite& message);
/// The same for a message that is serialized already.
std::string DelimitedBytes(const std::string& message);

/// Cuts a stream of bytes into frames. It holds no more than what has arrived, whatever a length
/// says. Not thread safe.
class FrameReader {
 public:
  /// `max_frame_bytes`: a longer one is an error.
  explicit FrameReader(size_t max_frame_bytes) : max_frame_bytes_(max_frame_bytes) {}

  void Append(const char* data, size_t size) { buffer_.append(data, size); }
  /// The next frame's content; nothing when it has not arrived whole.
  /// DataLoss – its length is negative or too large; nothing after it can be read.
  absl::StatusOr<std::optional<std::string>> Next();

 private:
  const size_t max_frame_bytes_;
  std::string buffer_;
  size_t consumed_ = 0;  ///< of the buffer's beginning
};

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
