// A Hadoop RPC server on loopback whose answers the test writes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "hadoop/common/rpc.pb.h"
#include "hadoop/rpc/tcp_stream.h"

namespace tony::hadoop {

/// Runs on the event loop of the client that it serves. Not thread safe.
class FakeServer {
 public:
  /// Returns the bytes to send for an arrived frame; they need not be a valid frame.
  using Handler = std::function<std::string(const std::string& frame)>;

  FakeServer(EventLoop& loop, Handler handler);
  /// The loop may go on: what it read meanwhile is dropped.
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  Endpoint endpoint() const;
  /// The number of connections accepted so far.
  int accepted() const;
  /// The first bytes of the last connection.
  const std::string& preamble() const;

  void CloseConnections();
  /// Sends `bytes` to each open connection.
  void Send(const std::string& bytes);

 private:
  class Connections;
  std::shared_ptr<Connections> connections_;
};

/// A client's frame, parsed.
struct ClientFrame {
  explicit ClientFrame(const std::string& frame);
  ::hadoop::common::RpcRequestHeaderProto header;
  ::hadoop::common::RequestHeaderProto request;
  ::hadoop::common::RpcSaslProto sasl;
  std::string body;
};

/// The frame that answers the call `id` with `body`.
std::string AnswerFrame(int id, const std::string& body);

/// The frame that answers the call `id` with an exception. `exception`: a Java class, optionally
/// followed by ": " and the message.
std::string ErrorFrame(int id, const std::string& exception, bool fatal = false);

}  // namespace tony::hadoop
