// A socket as a stream of bytes, without encryption.
#pragma once

#include <utility>

#include "common/byte_stream.h"
#include "os/files/unique_fd.h"

namespace tony::feed {

/// Not thread safe: owned by the event loop.
class PlainStream : public ByteStream {
 public:
  /// `socket` does not block.
  explicit PlainStream(os::UniqueFd socket) : socket_(std::move(socket)) {}

  IoResult Read(char* data, size_t size) override;
  IoResult Write(const char* data, size_t size) override;
  void EndWriting() override;
  int fd() const override { return socket_.get(); }

 private:
  os::UniqueFd socket_;
};

}  // namespace tony::feed
