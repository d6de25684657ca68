// Blocking peers of an endpoint, for tests.
#pragma once

#include <string>

#include "feed/frame.h"
#include "os/files/unique_fd.h"

namespace tony::feed {

/// A frame as it came.
struct Received {
  FrameHeader header;
  std::string payload;
};

/// A connection to a Unix socket of an endpoint. Gives up after 30 s. Not thread safe.
class FeedPeer {
 public:
  explicit FeedPeer(const std::string& path);

  /// False: the endpoint has closed the connection.
  bool Send(FrameType type, uint64_t argument = 0, const std::string& payload = "",
            uint8_t encoding = 0);
  bool SendBytes(const std::string& bytes);
  /// The next frame; one of the type 0 at the end of the connection, or when it gives up. A
  /// descriptor that comes with it is kept in fd().
  Received Next();
  Received NextButAlive();
  /// The next frame that is neither ALIVE nor CREDIT; credits are counted.
  Received NextButCredit();
  void Close() { socket_.Reset(); }

  int fd() const { return fd_.get(); }
  int socket() const { return socket_.get(); }
  uint64_t credits = 0;

 private:
  bool Receive(char* data, size_t size);

  os::UniqueFd socket_;
  os::UniqueFd fd_;
};

/// Says HELLO. `more`: further members of the JSON, each with a comma before it.
bool SayHello(FeedPeer& peer, int partition, const std::string& more = "",
              const std::string& token = "secret", const std::string& feed = "train");

}  // namespace tony::feed
