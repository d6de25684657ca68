// The heads that pass through the gate of a job's program: requests of anybody who reaches its
// port, and responses of the job's program.
//
// Besides not crashing: a head is understood, or refused, in the same way however its bytes are
// divided; what goes on is understood by the next reader as the same head, so that both sides of
// the gate see one message; and the program gets no cookie of tony's.
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"
#include "web/gate/message_head.h"
#include "web/http/cookies.h"

namespace tony::fuzz {
namespace {

constexpr char kAuthority[] = "node1:6006";

/// A rendered head and the bytes behind it; "": refused; nothing: it is not complete.
struct Passed {
  std::string head;
  std::string rest;
};

std::optional<Passed> PassRequest(const std::vector<std::string>& pieces) {
  web::RequestHeadReader reader;
  bool complete = false;
  Passed passed;
  for (const std::string& piece : pieces) {
    if (complete) {
      passed.rest += piece;
      continue;
    }
    const auto result = reader.Take(piece);
    if (!result) continue;
    const auto* head = std::get_if<web::RequestHead>(&*result);
    if (head == nullptr) return Passed{};
    for (const auto& [name, value] : head->lines) {
      if (!absl::EqualsIgnoreCase(name, "Cookie")) continue;
      for (const auto& cookie : web::SplitCookies(value)) {
        Require(!absl::StartsWith(cookie.first, "tony-"), "the program gets no cookie of tony's");
      }
    }
    Require(head->body_bytes <= web::RequestHeadReader::kMostBodyBytes, "a body is bounded");
    passed = {web::RenderHead(*head), reader.rest()};
    complete = true;
  }
  return complete ? std::optional(passed) : std::nullopt;
}

std::optional<Passed> PassResponse(const std::vector<std::string>& pieces) {
  web::ResponseHeadReader reader;
  bool complete = false;
  Passed passed;
  for (const std::string& piece : pieces) {
    if (complete) {
      passed.rest += piece;
      continue;
    }
    const auto head = reader.Take(piece);
    if (!head.ok()) return Passed{};
    if (!head->has_value()) continue;
    passed = {web::RenderHead(**head, kAuthority), reader.rest()};
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(passed.head, "\r\n"))) {
      constexpr char kName[] = "Set-Cookie: ";
      Require(!absl::StartsWithIgnoreCase(line, kName) ||
                  !absl::StartsWith(line.substr(sizeof kName - 1), "tony-"),
              "the program sets no cookie of tony's");
    }
    complete = true;
  }
  return complete ? std::optional(passed) : std::nullopt;
}

}  // namespace

void FuzzProgramHead(std::string_view input) {
  InputReader reader(input);
  const auto pass = reader.Byte() % 2 == 0 ? &PassRequest : &PassResponse;
  const uint8_t division = reader.Byte();
  const std::string bytes = reader.Rest();
  const std::optional<Passed> whole = pass({bytes});
  const std::optional<Passed> divided = pass(Divided(bytes, division));
  if (!whole || !divided) return;
  Require(whole->head == divided->head, "it passes or is refused alike, however it is divided");
  if (whole->head.empty()) return;
  Require(whole->rest == divided->rest, "the same bytes are behind it");
  const std::optional<Passed> again = pass({whole->head + whole->rest});
  Require(again && again->head == whole->head && again->rest == whole->rest,
          "what goes on is understood as the same");
}

}  // namespace tony::fuzz
