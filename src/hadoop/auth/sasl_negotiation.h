// The SASL exchange of one RPC connection, as a state machine: messages in, messages out, no I/O.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/auth/rpc_identity.h"
#include "hadoop/auth/sasl_mechanism.h"
#include "hadoop/common/rpc.pb.h"

namespace tony::hadoop {

/// The client's side of Hadoop's SASL exchange:
/// ```
///  client: NEGOTIATE ──▶ server: NEGOTIATE with its offers ──▶ client: INITIATE
///          server: CHALLENGE ──▶ client: RESPONSE   (as often as the mechanism needs)
///          server: SUCCESS
/// ```
/// Not thread safe.
class SaslNegotiation {
 public:
  using Message = ::hadoop::common::RpcSaslProto;

  /// `host`: the host that the client connects to; it replaces "_HOST" in the server's principal.
  SaslNegotiation(RpcIdentity identity, std::string host)
      : identity_(std::move(identity)), host_(std::move(host)) {}

  /// The first message to send.
  static Message Start();
  /// The message to send after the server's `message`; nothing after SUCCESS. Unauthenticated – the
  /// server offers nothing that this identity can use, or has not proved who it is;
  /// PermissionDenied – the server has another principal than expected; DataLoss – a message out of
  /// turn; and the codes of SaslMechanism.
  absl::StatusOr<std::optional<Message>> OnMessage(const Message& message);

  /// Whether SUCCESS has arrived and passed the mechanism's check.
  bool succeeded() const { return succeeded_; }
  /// Moves the mechanism out, which protects the connection from then on. Valid once succeeded.
  std::unique_ptr<SaslMechanism> TakeMechanism() { return std::move(mechanism_); }

 private:
  absl::StatusOr<std::optional<Message>> Choose(const Message& offers);
  absl::StatusOr<std::unique_ptr<SaslMechanism>> MechanismFor(const Message::SaslAuth& offer) const;

  const RpcIdentity identity_;
  const std::string host_;
  std::unique_ptr<SaslMechanism> mechanism_;
  bool succeeded_ = false;
};

}  // namespace tony::hadoop
