// Both sources answer through the same callback: the file is read in place, the program runs on a
// thread, and its answer is posted to the loop.
#include "executor/master/address_source.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "os/files/files.h"
#include "os/processes/run_program.h"

namespace tony::executor {
namespace {

constexpr std::chrono::seconds kLimit{10};
constexpr int kJobOver = 1;

absl::StatusOr<std::string> AddressFrom(const absl::StatusOr<os::FinishedProgram>& finished) {
  if (!finished.ok()) return absl::UnavailableError(std::string(finished.status().message()));
  const std::string error(absl::StripAsciiWhitespace(finished->standard_error));
  if (finished->status.signal == 0 && finished->status.code == kJobOver) {
    return absl::NotFoundError(error);
  }
  if (finished->status.signal != 0 || finished->status.code != 0) {
    LogDebug("the look-up of the ApplicationMaster's address failed",
             {{"code", finished->status.code}, {"signal", finished->status.signal}});
    return absl::UnavailableError(error);
  }
  return std::string(absl::StripAsciiWhitespace(finished->standard_output));
}

}  // namespace

void AddressFile::LookUp(OnAnswer on_answer) { on_answer(os::ReadFile(path_)); }

AddressCommand::~AddressCommand() {
  if (thread_.joinable()) thread_.join();
}

void AddressCommand::LookUp(OnAnswer on_answer) {
  if (thread_.joinable()) thread_.join();
  thread_ = std::thread([this, answer = lifetime_.Guard(std::move(on_answer))] {
    const absl::StatusOr<std::string> address =
        AddressFrom(os::RunWithDeadline(arguments_, kLimit));
    loop_.Post([answer, address] { answer(address); });
  });
}

}  // namespace tony::executor
