// The client is read in nearly every state, so that its leaving is noticed at once. Each direction
// reads its next piece when the last one has been written: a slow side slows down the other one.
#include "web/gate/gate_connection.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"

namespace tony::web {
namespace {

/// A WebSocket's early bytes: beyond that the client is read no further until the program answers.
constexpr size_t kMostEarlyBytes = size_t{64} * 1024;

}  // namespace

GateConnection::GateConnection(const Parts& parts, std::unique_ptr<TcpSocket> socket,
                               OnOver on_over)
    : parts_(parts), on_over_(std::move(on_over)), socket_(std::move(socket)) {}

void GateConnection::Start() {
  AllowTime(parts_.limits.request,
            [this] { Answer(ErrorResponse(408, "The request did not come in time.")); });
  ReadClient();
}

void GateConnection::AllowTime(std::chrono::milliseconds time, std::function<void()> when_over) {
  deadline_ = parts_.loop.After(time, std::move(when_over));
}

void GateConnection::Progress() {
  if (state_ != State::kCarrying) return;
  if (answered_) {
    return AllowTime(parts_.limits.silence, [this] {
      LogDebug("a connection to a program is closed: it carries nothing");
      Over(true);
    });
  }
  if (body_left_ > 0) {
    return AllowTime(parts_.limits.body, [this] {
      Answer(ErrorResponse(408, "The request's body did not come in time."));
    });
  }
  AllowTime(parts_.limits.answer, [this] { BadProgram(504, "has not answered in time"); });
}

void GateConnection::ReadClient() {
  if (std::exchange(reading_, true)) return;
  socket_->Read([this](absl::StatusOr<std::string> bytes) {
    reading_ = false;
    OnClientRead(std::move(bytes));
  });
}

void GateConnection::OnClientRead(absl::StatusOr<std::string> bytes) {
  if (!bytes.ok() || bytes->empty()) return Over(false);
  switch (state_) {
    case State::kReading:
      return TakeHead(*bytes);
    case State::kAnswering:
    case State::kParting:
      return ReadClient();  // until the client closes, or the deadline is over
    case State::kCarrying:
      break;
  }
  if (websocket_) {
    early_ += *bytes;
    return SendEarly();
  }
  if (body_left_ > 0) {
    if (bytes->size() > body_left_) bytes->resize(body_left_);
    body_left_ -= bytes->size();
    return SendToProgram(*std::move(bytes));
  }
  // A client may speak before the WebSocket is there. Other bytes behind the request would be a
  // second one, which is not served: they are dropped, and the client is read on until it leaves.
  if (request_.websocket && !answered_) early_ += *bytes;
  ReadMore();
}

void GateConnection::ReadMore() {
  if (early_.size() < kMostEarlyBytes) ReadClient();
}

void GateConnection::TakeHead(const std::string& bytes) {
  auto result = request_reader_.Take(bytes);
  if (!result) return ReadClient();
  if (auto* refusal = std::get_if<HttpResponse>(&*result)) return Answer(std::move(*refusal));
  request_ = std::get<RequestHead>(std::move(*result));
  if (auto answer = parts_.access.Check(request_)) return Answer(*std::move(answer));
  Carry();
}

void GateConnection::Carry() {
  absl::StatusOr<std::unique_ptr<ProgramLink>> link = parts_.links.Open();
  if (!link.ok()) return NothingThere(link.status());
  link_ = *std::move(link);
  state_ = State::kCarrying;
  std::string first = RenderHead(request_);
  std::string& rest = request_reader_.rest();
  if (rest.size() > request_.body_bytes) {
    if (request_.websocket) early_ = rest;
    rest.resize(request_.body_bytes);
  }
  body_left_ = request_.body_bytes - rest.size();
  first += rest;
  SendToProgram(std::move(first));
  ReadProgram();
}

// The client is read again once the program's side has taken the piece. The program's answer may
// come before that is known here, so a WebSocket's early bytes are sent by whoever comes last. A
// read may be under way meanwhile: what it brings waits in early_, too.
void GateConnection::SendToProgram(std::string bytes) {
  Progress();
  writing_ = true;
  link_->Write(std::move(bytes), [this] {
    writing_ = false;
    Progress();
    if (websocket_ && !early_.empty()) return SendEarly();
    ReadMore();
  });
}

void GateConnection::SendEarly() {
  if (websocket_ && !writing_ && !early_.empty()) SendToProgram(std::exchange(early_, ""));
}

void GateConnection::ReadProgram() {
  link_->Read([this](absl::StatusOr<std::string> bytes) { OnProgramRead(std::move(bytes)); });
}

void GateConnection::OnProgramRead(absl::StatusOr<std::string> bytes) {
  if (!bytes.ok()) {
    // What has been sent of a response must not look like all of it.
    if (answered_) return Over(true);
    return NothingThere(bytes.status());
  }
  if (bytes->empty()) {
    if (answered_) return Part();
    return BadProgram(502, "has closed the connection without an answer");
  }
  Progress();
  if (!answered_) return TakeResponse(*bytes);
  SendToClient(*std::move(bytes));
}

void GateConnection::TakeResponse(const std::string& bytes) {
  absl::StatusOr<std::optional<ResponseHead>> head = response_reader_.Take(bytes);
  if (!head.ok()) {
    return BadProgram(502, absl::StrCat("does not speak HTTP: ", head.status().message()));
  }
  if (!head->has_value()) return ReadProgram();
  answered_ = true;
  websocket_ = request_.websocket && (*head)->websocket;
  if ((*head)->status == 101 && !websocket_) {
    answered_ = false;
    return BadProgram(502, "has switched to a protocol that was not asked for");
  }
  Progress();
  // A page at another port is the same site, so the cookie is sent with its frames. Without a
  // policy another user's page could show the program in one and lead the visitor's clicks to it.
  if (!websocket_) {
    (*head)->lines.emplace_back("Content-Security-Policy",
                                FramePolicy((*head)->lines, parts_.framed_by));
  }
  SendToClient(RenderHead(**head, parts_.links.authority()) + response_reader_.rest());
  if (websocket_) return SendEarly();
  early_.clear();
  if (body_left_ == 0) ReadClient();
}

void GateConnection::SendToClient(std::string bytes) {
  socket_->Write(std::move(bytes), [this](const absl::Status& status) {
    if (!status.ok()) return Over(false);
    Progress();
    ReadProgram();
  });
}

// The path stays out of the log: it may hold the code.
void GateConnection::Answer(HttpResponse response) {
  if (response.status >= 400) {
    LogDebug("the gate of a program refuses a request",
             {{"status", response.status}, {"why", response.sentence}});
  }
  link_.reset();
  state_ = State::kAnswering;
  response = ForReader(std::move(response), request_.facts.accept);
  response.framed_by = parts_.framed_by;
  AllowTime(parts_.limits.own_answer, [this] { Over(true); });
  ReadClient();
  socket_->Write(RenderResponse(response, request_.facts.head), [this](const absl::Status& status) {
    if (!status.ok()) return Over(false);
    Part();
  });
}

// TensorBoard needs some seconds to start, and may be started anew: a visitor's browser asks again.
void GateConnection::NothingThere(const absl::Status& why) {
  HttpResponse response =
      ErrorResponse(503, absl::StrCat("There is nothing to show: ", why.message(),
                                      ". This page asks again every two seconds."));
  response.headers.emplace_back("Refresh", "2");
  Answer(std::move(response));
}

void GateConnection::BadProgram(int status, const std::string& why) {
  Answer(ErrorResponse(status,
                       absl::StrCat("The program of ", parts_.links.program(), " ", why, ".")));
}

// Closing with bytes of the client unread might destroy the response on its way, so the client is
// read until it closes, for two seconds at most.
void GateConnection::Part() {
  link_.reset();
  state_ = State::kParting;
  socket_->EndWriting();
  constexpr std::chrono::milliseconds kPatience{2000};
  AllowTime(kPatience, [this] { Over(false); });
  ReadClient();
}

void GateConnection::Over(bool broken) {
  if (broken) socket_->Break();
  // Copied, because this object is destroyed in the call.
  const OnOver over = on_over_;
  over(*this);
}

}  // namespace tony::web
