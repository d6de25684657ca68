// Encodes calls as frames and matches answers to calls by id. With a negotiated protection, frames
// travel inside SASL messages of state WRAP: `outer_frames_` reads those, `inner_frames_` the
// frames inside.
#include "hadoop/rpc/rpc_connection.h"

#include <openssl/rand.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "hadoop/rpc/remote_exception.h"

namespace tony::hadoop {
namespace {

namespace wire = ::hadoop::common;

constexpr char kPreamble[] = {'h', 'r', 'p', 'c', 9, 0};  // version 9, service class 0
constexpr char kNoAuthentication = 0;
constexpr auto kSasl = static_cast<char>(-33);

// Messages other than calls have fixed negative ids; calls count up from 0.
constexpr int32_t kContextId = -3;
constexpr int32_t kPingId = -4;
constexpr int32_t kSaslId = -33;

constexpr char kProtocol[] = "Hadoop's RPC";
constexpr size_t kClientIdBytes = 16;
constexpr uint64_t kProtocolVersion = 1;

std::string RandomId() {
  std::string id(kClientIdBytes, '\0');
  // The id only tells clients apart; no security depends on it, so a failure is ignored.
  RAND_bytes(reinterpret_cast<uint8_t*>(id.data()), kClientIdBytes);
  return id;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

RpcConnection::RpcConnection(EventLoop& loop, const Endpoint& server, std::string protocol,
                             RpcIdentity identity, RpcConnectionOptions options,
                             std::function<void(const absl::Status&)> closed)
    : loop_(loop),
      server_(server),
      protocol_(std::move(protocol)),
      identity_(std::move(identity)),
      options_(options),
      client_id_(RandomId()),
      closed_(std::move(closed)),
      negotiation_(identity_, server.host),
      outer_frames_(options.max_frame_bytes, kProtocol),
      inner_frames_(options.max_frame_bytes, kProtocol) {
  connect_deadline_ = loop_.After(options_.connect_timeout, [this] {
    Close(absl::UnavailableError(absl::StrCat(
        ToString(server_), state_ == State::kConnecting ? " cannot be reached" : " does not answer",
        " within ", Seconds(options_.connect_timeout), " s")));
  });
  keep_alive_ = loop_.After(options_.ping_interval, [this] { KeepAlive(); });
  stream_ = std::make_unique<TcpStream>(
      loop_, server_,
      TcpStream::Events{
          .connected = [this] { OnConnected(); },
          .received = [this](const char* data, size_t size) { OnReceived(data, size); },
          .closed = [this](const absl::Status& status) { Close(status); }});
}

RpcConnection::~RpcConnection() = default;

wire::RpcRequestHeaderProto RpcConnection::Header(int32_t call_id) const {
  wire::RpcRequestHeaderProto header;
  header.set_rpckind(wire::RPC_PROTOCOL_BUFFER);
  header.set_rpcop(wire::RpcRequestHeaderProto::RPC_FINAL_PACKET);
  header.set_callid(call_id);
  header.set_clientid(call_id >= 0 || call_id == kContextId ? client_id_ : "");
  header.set_retrycount(call_id >= 0 ? 0 : -1);
  return header;
}

void RpcConnection::SendSasl(const SaslNegotiation::Message& message) {
  const auto header = Header(kSaslId);
  stream_->Write(EncodeFrame({&header, &message}));
}

absl::Status RpcConnection::SendFrame(const std::string& frame) {
  if (protection_ == nullptr) {
    stream_->Write(frame);
    return absl::OkStatus();
  }
  // The protected data is a byte stream, so one wrapped message may hold a part of a frame.
  for (size_t at = 0; at < frame.size(); at += protection_->MaxWrapBytes()) {
    TONY_ASSIGN_OR_RETURN(std::string token,
                          protection_->Wrap(frame.substr(at, protection_->MaxWrapBytes())));
    SaslNegotiation::Message message;
    message.set_state(SaslNegotiation::Message::WRAP);
    message.set_token(std::move(token));
    SendSasl(message);
  }
  return absl::OkStatus();
}

void RpcConnection::OnConnected() {
  std::string preamble(kPreamble, sizeof(kPreamble));
  preamble.push_back(identity_.authenticates() ? kSasl : kNoAuthentication);
  stream_->Write(std::move(preamble));
  if (identity_.authenticates()) {
    state_ = State::kAuthenticating;
    return SendSasl(SaslNegotiation::Start());
  }
  const absl::Status ready = BecomeReady();
  if (!ready.ok()) Close(ready);
}

absl::Status RpcConnection::BecomeReady() {
  state_ = State::kReady;
  connect_deadline_ = nullptr;
  wire::IpcConnectionContextProto context;
  context.set_protocol(protocol_);
  // An authenticated connection sends no user name: the server knows it from the authentication.
  if (!identity_.authenticates()) {
    context.mutable_userinfo()->set_effectiveuser(identity_.user);
  }
  const auto header = Header(kContextId);
  return SendFrame(EncodeFrame({&header, &context}) + std::exchange(unsent_, ""));
}

void RpcConnection::Call(const std::string& method, const std::string& request, Duration timeout,
                         Done done) {
  if (state_ == State::kClosed) {
    return loop_.Post(
        lifetime_.Guard([done = std::move(done), status = why_closed_] { done(status); }));
  }
  const int32_t id = next_id_++;
  wire::RequestHeaderProto what;
  what.set_methodname(method);
  what.set_declaringclassprotocolname(protocol_);
  what.set_clientprotocolversion(kProtocolVersion);
  const auto header = Header(id);
  std::string frame = EncodeFrame({&header, &what}, DelimitedBytes(request));
  calls_[id] = {.method = method,
                .done = std::move(done),
                .deadline = loop_.After(timeout, [=, this] { OnDeadline(id, timeout); })};
  if (state_ != State::kReady) {
    unsent_ += frame;
    return;
  }
  const absl::Status sent = SendFrame(frame);
  if (sent.ok()) return;
  // The connection is closed from the loop: `closed` must not run inside the caller's Call.
  loop_.Post(lifetime_.Guard([this, sent] { Close(sent); }));
}

void RpcConnection::OnDeadline(int32_t id, Duration timeout) {
  EndCall(id, absl::DeadlineExceededError(absl::StrCat(
                  ToString(server_), " has not answered within ", Seconds(timeout), " s")));
}

void RpcConnection::EndCall(int32_t id, absl::StatusOr<std::string> result) {
  auto call = calls_.extract(id);
  // An answer may arrive after the call's deadline has ended it.
  if (call.empty()) {
    return LogDebug("an answer of a Hadoop server comes too late",
                    {{"peer", ToString(server_)}, {"call", id}});
  }
  if (!result.ok()) result = Annotate(result.status(), call.mapped().method);
  call.mapped().done(std::move(result));
}

void RpcConnection::OnReceived(const char* data, size_t size) {
  last_heard_ = clock_.Now();
  outer_frames_.Append(data, size);
  const Lifetime::Observer lifetime = lifetime_.Observe();
  const absl::Status status = ReadFrames(outer_frames_, false);
  if (!lifetime.ended() && !status.ok()) Close(status);
}

absl::Status RpcConnection::ReadFrames(FrameReader& reader, bool unwrapped) {
  // A callback may close or destroy this.
  const Lifetime::Observer lifetime = lifetime_.Observe();
  while (!lifetime.ended() && state_ != State::kClosed) {
    TONY_ASSIGN_OR_RETURN(const std::optional<std::string> frame, reader.Next());
    if (!frame.has_value()) break;
    TONY_RETURN_IF_ERROR(OnFrame(*frame, unwrapped));
  }
  return absl::OkStatus();
}

absl::Status RpcConnection::OnFrame(const std::string& frame, bool unwrapped) {
  MessageReader reader(frame);
  ResponseHeader header;
  TONY_RETURN_IF_ERROR(reader.Read(&header));
  const auto id = static_cast<int32_t>(header.callid());
  const bool good = header.status() == ResponseHeader::SUCCESS;
  // Once protection is agreed on, only wrapped frames count. An unprotected exception is refused
  // too: anybody on the network could have injected it.
  if (protection_ != nullptr && !unwrapped && !(good && id == kSaslId)) {
    LogWarning("an unprotected answer is refused", {{"peer", ToString(server_)}});
    return absl::DataLossError("the server sent an answer that is not protected, as was agreed on");
  }
  if (header.status() == ResponseHeader::FATAL || (!good && id == kSaslId)) {
    LogInfo("a Hadoop server refuses the connection",
            {{"peer", ToString(server_)}, {"why", header.errormsg()}});
    return RemoteException(header.exceptionclassname(), header.errormsg());
  }
  if (id != kSaslId) return OnAnswer(header, reader);
  if (unwrapped) return absl::DataLossError("protected data inside of protected data");
  return OnSasl(reader);
}

absl::Status RpcConnection::OnSasl(MessageReader& reader) {
  SaslNegotiation::Message message;
  TONY_RETURN_IF_ERROR(reader.Read(&message));
  if (message.state() == SaslNegotiation::Message::WRAP && protection_ != nullptr) {
    return OnProtected(message.token());
  }
  if (state_ != State::kAuthenticating) {
    return absl::DataLossError("the server speaks of authentication when there is none");
  }
  TONY_ASSIGN_OR_RETURN(const auto answer, negotiation_.OnMessage(message));
  if (answer.has_value()) SendSasl(*answer);
  if (!negotiation_.succeeded()) return absl::OkStatus();
  auto mechanism = negotiation_.TakeMechanism();
  if (mechanism->protection() != Protection::kAuthentication) protection_ = std::move(mechanism);
  return BecomeReady();
}

absl::Status RpcConnection::OnProtected(const std::string& token) {
  TONY_ASSIGN_OR_RETURN(const std::string plain, protection_->Unwrap(token));
  inner_frames_.Append(plain.data(), plain.size());
  return ReadFrames(inner_frames_, true);
}

absl::Status RpcConnection::OnAnswer(const ResponseHeader& header, MessageReader& reader) {
  const auto id = static_cast<int32_t>(header.callid());
  if (header.status() != ResponseHeader::SUCCESS) {
    EndCall(id, RemoteException(header.exceptionclassname(), header.errormsg()));
    return absl::OkStatus();
  }
  TONY_ASSIGN_OR_RETURN(std::string body, reader.Bytes());
  EndCall(id, std::move(body));
  return absl::OkStatus();
}

void RpcConnection::KeepAlive() {
  keep_alive_ = loop_.After(options_.ping_interval, [this] { KeepAlive(); });
  const bool quiet = clock_.Now() - last_heard_ >= options_.ping_interval;
  if (!quiet || calls_.empty() || state_ != State::kReady) return;
  LogDebug("a Hadoop server is quiet: pinging it", {{"peer", ToString(server_)}});
  const auto header = Header(kPingId);
  const absl::Status sent = SendFrame(EncodeFrame({&header}));
  if (!sent.ok()) Close(sent);
}

void RpcConnection::Close(const absl::Status& status) {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  why_closed_ = status;
  connect_deadline_ = nullptr;
  keep_alive_ = nullptr;
  // In the order in which they were made.
  std::vector<int32_t> ids;
  for (const auto& [id, call] : calls_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  const Lifetime::Observer lifetime = lifetime_.Observe();
  stream_ = nullptr;
  for (const int32_t id : ids) {
    if (!lifetime.ended()) EndCall(id, status);
  }
  if (!lifetime.ended()) std::exchange(closed_, nullptr)(status);
}

}  // namespace tony::hadoop
