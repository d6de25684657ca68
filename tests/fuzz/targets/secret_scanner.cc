// A program's output, of which secrets are taken out before it is kept and shown.
//
// Besides not crashing: what comes out is the same however the output is divided, and a password
// in a line of its own behind any output does not come out.
#include <string>
#include <string_view>
#include <vector>

#include "executor/output/pattern_redactor.h"
#include "logs/secret_scanner.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {
namespace {

constexpr char kPassword[] = "Zq9xSentinel77";

template <typename Scanner>
std::string Scan(Scanner& scanner, const std::vector<std::string>& pieces) {
  std::string result;
  const logs::OutputSink sink = [&](const char* data, size_t size) {
    result.append(data, size);
  };
  for (const std::string& piece : pieces) scanner.Add(piece.data(), piece.size(), sink);
  scanner.Flush(sink);
  return result;
}

std::string Scanned(const std::vector<std::string>& pieces) {
  logs::SecretScanner scanner;
  return Scan(scanner, pieces);
}

std::string Redacted(const std::vector<std::string>& pieces) {
  auto redactor = executor::PatternRedactor::Create({"tok-[0-9]+", "(?i)key: *[^ ]+"});
  Require(redactor.ok(), "the patterns are good");
  return Scan(*redactor, pieces);
}

}  // namespace

void FuzzSecretScanner(std::string_view input) {
  InputReader reader(input.substr(0, executor::PatternRedactor::kMaxLineBytes));
  const uint8_t division = reader.Byte();
  const std::string output = reader.Rest();
  const std::vector<std::string> pieces = Divided(output, division);
  Require(Scanned({output}) == Scanned(pieces), "the same comes out in pieces");
  Require(Redacted({output}) == Redacted(pieces), "patterns match the same in pieces");
  if (output.find(kPassword) != std::string::npos) return;
  const std::string line = std::string("\npassword=") + kPassword + "\n";
  Require(Scanned({output + line}).find(kPassword) == std::string::npos,
          "a password does not come out");
}

}  // namespace tony::fuzz
