// The head of a request to the rendezvous server, of any process that reaches its port.
//
// Besides not crashing: the head that is found does not depend on what follows it, or on how much
// of it has come; scope and key are parts of a path; only PUT has a body.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <variant>

#include "rendezvous/request_head.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

using Result = std::optional<std::variant<rendezvous::RequestHead, rendezvous::Refusal>>;
using rendezvous::RequestHead;

constexpr size_t kMostBytes = size_t{8} * 1024;  // ReadHead()'s own limit

bool IsPart(const std::string& text) {
  return !text.empty() && text.find_first_of(std::string_view("/\r\n\0", 4)) == std::string::npos;
}

bool Same(const RequestHead& a, const RequestHead& b) {
  return a.method == b.method && a.scope == b.scope && a.key == b.key &&
         a.body_bytes == b.body_bytes && a.head_bytes == b.head_bytes;
}

void CheckHead(const RequestHead& head, const std::string& bytes) {
  Require(IsPart(head.scope) && IsPart(head.key), "scope and key are parts of a path");
  Require(head.method == RequestHead::Method::kPut || head.body_bytes == 0, "only PUT has a body");
  Require(head.head_bytes <= bytes.size(), "a head ends where its bytes end, or before");
  const Result alone = rendezvous::ReadHead(bytes.data(), head.head_bytes);
  Require(alone && std::holds_alternative<RequestHead>(*alone), "a head can stand alone");
  Require(Same(head, std::get<RequestHead>(*alone)), "what follows a head changes nothing");
  Require(!rendezvous::ReadHead(bytes.data(), head.head_bytes - 1),
          "a head lacks its end, or has it");
}

}  // namespace

void FuzzRendezvousHead(std::string_view input) {
  InputReader reader(input.substr(0, kMostBytes + 1));
  const uint8_t division = reader.Byte();
  const std::string bytes = reader.Rest();
  const Result whole = rendezvous::ReadHead(bytes.data(), bytes.size());
  Result in_pieces;
  size_t come = 0;
  for (const std::string& piece : Divided(bytes, division)) {
    come += piece.size();
    in_pieces = rendezvous::ReadHead(bytes.data(), come);
    if (in_pieces) break;
  }
  Require(whole.has_value() == in_pieces.has_value(), "a head is whole however it comes");
  if (!whole) return;
  Require(whole->index() == in_pieces->index(), "it is refused or not, however it comes");
  if (const auto* head = std::get_if<RequestHead>(&*whole)) {
    CheckHead(*head, bytes);
    Require(Same(*head, std::get<RequestHead>(*in_pieces)), "it says the same in pieces");
    return;
  }
  constexpr std::array kRefusals = {400, 403, 405, 411, 505};
  const auto& refusal = std::get<rendezvous::Refusal>(*whole);
  Require(std::find(kRefusals.begin(), kRefusals.end(), refusal.status) != kRefusals.end(),
          "a refusal's status is documented");
  Require(!refusal.sentence.empty(), "a refusal has a sentence");
}

}  // namespace tony::fuzz
