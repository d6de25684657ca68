// A connection's authentication as messages in and messages out.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "hadoop/auth/rpc_identity.h"
#include "hadoop/auth/sasl_mechanism.h"
#include "hadoop/common/rpc.pb.h"

namespace tony::hadoop {

/// ```
///  client: NEGOTIATE ──▶ server: NEGOTIATE with its offers ──▶ client: INITIATE
///          server: CHALLENGE ──▶ client: RESPONSE   (as often as the mechanism needs)
///          server: SUCCESS
/// ```
/// Not thread safe.
class SaslNegotiation {
 public:
  using Message = ::hadoop::common::RpcSaslProto;

  /// `host` is what is connected to, for "_HOST".
  SaslNegotiation(RpcIdentity identity, std::string host)
      : identity_(std::move(identity)), host_(std::move(host)) {}

  /// The first message to send.
  static Message Start();
  /// What to send after `message`; nothing after SUCCESS.
  /// Unauthenticated – the server offers nothing that this identity can use, or has not proved
  /// itself; PermissionDenied – it is another server than expected; DataLoss – out of turn; and the
  /// codes of SaslMechanism.
  absl::StatusOr<std::optional<Message>> OnMessage(const Message& message);

  /// Whether SUCCESS has come.
  bool succeeded() const { return succeeded_; }
  /// The mechanism, once succeeded, for what it protects.
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
