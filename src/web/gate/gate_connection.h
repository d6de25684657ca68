// One connection of a browser to the page of a job's program.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "web/gate/message_head.h"
#include "web/gate/program_access.h"
#include "web/gate/program_link.h"

namespace tony::web {

/// Plain data.
struct GateLimits {
  size_t connections = 40;
  std::chrono::milliseconds request{10'000};     ///< for the client to send a request's head
  std::chrono::milliseconds body{30'000};        ///< for a piece of the request's body to pass
  std::chrono::milliseconds answer{300'000};     ///< for the program to begin its response
  std::chrono::milliseconds silence{900'000};    ///< in which nothing passes, after that
  std::chrono::milliseconds own_answer{60'000};  ///< for the client to read an answer of the gate's
};

/// Takes one request, checks it, and carries it and its response over a connection of its own to
/// the program, in each direction one piece at a time. No second request follows, so that none
/// passes unchecked; a WebSocket is carried until one side ends it.
///
///   READING ─▶ CARRYING ─▶ PARTING
///      └▶ ANSWERING ──────────┘       the gate itself answers
///
/// Not thread safe: owned by the event loop.
class GateConnection {
 public:
  /// All must outlive the connection.
  struct Parts {
    EventLoop& loop;
    ProgramAccess& access;
    ProgramLinks& links;
    const GateLimits& limits;
    const std::vector<std::string>& framed_by;  ///< origins of the job's page
  };
  /// Called once, when the connection is over; destroys it.
  using OnOver = std::function<void(const GateConnection&)>;

  GateConnection(const Parts& parts, std::unique_ptr<TcpSocket> socket, OnOver on_over);

  void Start();
  /// Whether the connection may be closed for a new one: nobody waits for an answer on it.
  bool dispensable() const { return state_ == State::kReading || state_ == State::kParting; }

 private:
  enum class State { kReading, kAnswering, kCarrying, kParting };

  void AllowTime(std::chrono::milliseconds time, std::function<void()> when_over);
  /// Something has passed.
  void Progress();
  void ReadClient();
  /// Unless the client has sent too much early.
  void ReadMore();
  void OnClientRead(absl::StatusOr<std::string> bytes);
  void TakeHead(const std::string& bytes);
  void Carry();
  void SendToProgram(std::string bytes);
  void SendEarly();
  void ReadProgram();
  void OnProgramRead(absl::StatusOr<std::string> bytes);
  void TakeResponse(const std::string& bytes);
  void SendToClient(std::string bytes);
  void Answer(HttpResponse response);
  void NothingThere(const absl::Status& why);
  void BadProgram(int status, const std::string& why);
  void Part();
  void Over(bool broken);

  const Parts parts_;
  const OnOver on_over_;
  State state_ = State::kReading;
  RequestHeadReader request_reader_;
  ResponseHeadReader response_reader_;
  RequestHead request_;
  uint64_t body_left_ = 0;  ///< of the request's, that has not come yet
  std::string early_;       ///< bytes of a WebSocket that wait until it is there, or for writing_
  bool reading_ = false;    ///< bytes of the client are waited for
  bool writing_ = false;    ///< the program's side has not taken the last piece yet
  bool answered_ = false;   ///< the response's head has come
  bool websocket_ = false;  ///< the connection has become one
  std::unique_ptr<EventLoop::Handle> deadline_;
  std::unique_ptr<TcpSocket> socket_;
  std::unique_ptr<ProgramLink> link_;  ///< last, because its callbacks use the members above
};

}  // namespace tony::web
