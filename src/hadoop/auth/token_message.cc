// TokenProto has the same four fields as Token.
#include "hadoop/auth/token_message.h"

namespace tony::hadoop {

Token TokenOf(const ::hadoop::common::TokenProto& message) {
  return {.identifier = message.identifier(),
          .password = message.password(),
          .kind = message.kind(),
          .service = message.service()};
}

::hadoop::common::TokenProto MessageOf(const Token& token) {
  ::hadoop::common::TokenProto message;
  message.set_identifier(token.identifier);
  message.set_password(token.password);
  message.set_kind(token.kind);
  message.set_service(token.service);
  return message;
}

}  // namespace tony::hadoop
