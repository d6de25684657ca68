// A renewal writes two files, one after the other: between them they are no pair. So they are read
// only when two looks have found the same.
#include "portal/renewed_tls.h"

#include <sys/stat.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "rpc/security/credentials.h"

namespace tony::portal {
namespace {

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Whether reading may succeed the next time although the files stay the same. What they contain,
/// who may read them and whether they are there changes with their marks.
bool IsPassing(const absl::Status& why) {
  return !absl::IsInvalidArgument(why) && !absl::IsPermissionDenied(why) && !absl::IsNotFound(why);
}

}  // namespace

// Through links: certificates are often renewed by a new target.
RenewedTls::FileMark RenewedTls::FileMark::Of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, Nanoseconds(status.st_mtim),
          Nanoseconds(status.st_ctim)};
}

RenewedTls::Marks RenewedTls::MarksOf(const Files& files) {
  return {FileMark::Of(files.certificate), FileMark::Of(files.key)};
}

absl::StatusOr<std::shared_ptr<rpc::TlsServer>> RenewedTls::ReadPair(const Files& files) {
  TONY_ASSIGN_OR_RETURN(const std::string certificates, os::ReadFile(files.certificate));
  TONY_ASSIGN_OR_RETURN(const std::string key, rpc::ReadSecretFile(files.key));
  auto server = rpc::TlsServer::CreateForBrowsers(certificates, key);
  if (server.ok()) return std::shared_ptr<rpc::TlsServer>(*std::move(server));
  return absl::Status(server.status().code(),
                      absl::StrCat("the certificate ", files.certificate, " with the key ",
                                   files.key, ": ", std::string(server.status().message())));
}

RenewedTls::RenewedTls(EventLoop& loop, Files files, std::chrono::milliseconds pause)
    : loop_(loop), files_(std::move(files)), pause_(pause), worker_(loop) {}

absl::StatusOr<std::unique_ptr<RenewedTls>> RenewedTls::Open(EventLoop& loop,
                                                             std::string certificate,
                                                             std::string key,
                                                             std::chrono::milliseconds pause) {
  std::unique_ptr<RenewedTls> tls(
      new RenewedTls(loop, {std::move(certificate), std::move(key)}, pause));
  // Before they are read: what is changed meanwhile is read again.
  tls->read_ = tls->seen_ = MarksOf(tls->files_);
  TONY_ASSIGN_OR_RETURN(tls->server_, ReadPair(tls->files_));
  tls->LookLater();
  return tls;
}

void RenewedTls::LookLater() {
  timer_ = loop_.After(pause_, [this] {
    worker_.Run<Look>(
        nullptr,
        [files = files_, read = read_, seen = seen_](const Worker::Stop&) -> absl::StatusOr<Look> {
          Look look{.marks = MarksOf(files)};
          look.read = look.marks == seen && look.marks != read;
          if (!look.read) return look;
          absl::StatusOr<std::shared_ptr<rpc::TlsServer>> server = ReadPair(files);
          if (server.ok()) look.server = *std::move(server);
          if (!server.ok()) look.wrong = std::string(server.status().message());
          look.again = !server.ok() && IsPassing(server.status());
          return look;
        },
        [this](const absl::StatusOr<Look>& look) {
          if (look.ok()) Take(*look);
          LookLater();
        });
  });
}

void RenewedTls::Take(const Look& look) {
  seen_ = look.marks;
  if (!look.read) return;
  if (!look.again) read_ = look.marks;
  if (look.server == nullptr) {
    if (std::exchange(said_, look.wrong) == look.wrong && look.again) return;
    Log(LogLevel::kError,
        look.again ? "the portal cannot read its renewed certificate, and tries again"
                   : "the portal keeps the certificate that it has; the new one is of no use",
        {{"why", look.wrong}});
    return;
  }
  said_.clear();
  server_ = look.server;
  LogInfo("the portal shows its renewed certificate", {{"file", files_.certificate}});
}

}  // namespace tony::portal
