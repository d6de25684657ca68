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
  read_ = look.marks;
  if (look.server == nullptr) {
    Log(LogLevel::kError, "the portal keeps the certificate that it has; the new one is of no use",
        {{"why", look.wrong}});
    return;
  }
  server_ = look.server;
  LogInfo("the portal shows its renewed certificate", {{"file", files_.certificate}});
}

}  // namespace tony::portal
