// The certificate goes through a pipe, which nobody can read twice and which leaves no file behind.
#include "executor/voucher.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/overlay_variables.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "os/files/unique_fd.h"
#include "os/files/wait_readable.h"
#include "os/machine/machine.h"
#include "os/processes/own_program.h"
#include "os/processes/process_identity.h"
#include "rpc/services/voucher.h"

namespace tony::executor {
namespace {

/// A launcher writes the voucher before it starts the executor, or at once after that.
constexpr std::chrono::seconds kVoucherLimit{10};
/// The ApplicationMaster answers when it has a task, and may be busy.
constexpr std::chrono::seconds kRedeemLimit{60};
/// An executor that is placed while its job ends holds its place for this long.
constexpr std::chrono::seconds kConnectLimit{3};

/// Reads until the end of the descriptor, or of the first line.
absl::StatusOr<std::string> ReadVoucher(int fd) {
  const SystemClock clock;
  const TimePoint end = clock.Now() + kVoucherLimit;
  std::string text;
  char bytes[4096];
  while (text.size() <= rpc::kMostVoucherBytes && text.find('\n') == std::string::npos) {
    if (!os::WaitReadable(fd, end - clock.Now())) {
      return absl::DeadlineExceededError(
          absl::StrCat("no voucher came in descriptor ", fd, " (--voucher-fd)"));
    }
    const ssize_t size = ::read(fd, bytes, sizeof(bytes));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return os::ErrnoError(errno, absl::StrCat("--voucher-fd=", fd));
    if (size == 0) break;
    text.append(bytes, static_cast<size_t>(size));
  }
  return text;
}

/// A pipe that holds `text`, open for reading in the program that is executed next.
absl::StatusOr<os::UniqueFd> PipeWith(const std::string& text) {
  int ends[2];
  if (::pipe2(ends, 0) != 0) return os::ErrnoError(errno, "cannot make a pipe");
  os::UniqueFd reader(ends[0]);
  const os::UniqueFd writer(ends[1]);
  // A pipe takes 64 KiB without a reader; credentials have two.
  if (::fcntl(writer.get(), F_SETFL, O_NONBLOCK) != 0) return os::ErrnoError(errno, "a pipe");
  TONY_RETURN_IF_ERROR(os::WriteAll(writer.get(), text.data(), text.size(), "a pipe"));
  return reader;
}

absl::Status Execute(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment) {
  std::vector<char*> argv;
  for (const std::string& word : arguments) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (const std::string& word : environment) envp.push_back(const_cast<char*>(word.c_str()));
  envp.push_back(nullptr);
  ::execve(argv[0], argv.data(), envp.data());
  return os::ErrnoError(errno, arguments[0]);
}

}  // namespace

absl::Status RedeemVoucher(const Options& options, const std::vector<std::string>& environment) {
  // The descriptor closes when the program is executed again, or ends. That tells the launcher that
  // the voucher is redeemed, or that it never will be.
  if (::fcntl(options.voucher_fd, F_SETFD, FD_CLOEXEC) != 0) {
    return os::ErrnoError(errno, absl::StrCat("--voucher-fd=", options.voucher_fd));
  }
  TONY_ASSIGN_OR_RETURN(const std::string text, ReadVoucher(options.voucher_fd));
  TONY_ASSIGN_OR_RETURN(const rpc::Voucher voucher, rpc::ParseVoucher(text));
  rpc::Newcomer self{.host = options.host,
                     .host_id = os::BootId(),
                     .process = {::getpid(), os::ProcessStart(::getpid()).value_or(0)},
                     .gpus = options.gpus};
  TONY_ASSIGN_OR_RETURN(const core::LaunchContext order,
                        rpc::Redeem(voucher, self, {kRedeemLimit, kConnectLimit}));
  // Where the executor keeps what is its own in the working folder.
  TONY_RETURN_IF_ERROR(os::MakeFolders(".tony"));
  TONY_ASSIGN_OR_RETURN(const os::UniqueFd credentials, PipeWith(order.secret));
  TONY_ASSIGN_OR_RETURN(const std::string program, os::OwnProgram());
  TONY_ASSIGN_OR_RETURN(std::vector<std::string> command, os::OwnProgramCommand(program));
  command.insert(command.end(), order.arguments.begin(), order.arguments.end());
  command.push_back(absl::StrCat("--credentials-fd=", credentials.get()));
  command.push_back("--tells-its-end");
  if (options.tied_to_pid > 0) {
    command.push_back(absl::StrCat("--tied-to-pid=", options.tied_to_pid));
    command.push_back(absl::StrCat("--tied-to-start=", options.tied_to_start));
  }
  return Execute(command, OverlaidVariables(environment, order.environment));
}

}  // namespace tony::executor
