// Reads and writes credentials as one PEM file, and refuses a file that other users can access.
#include "rpc/security/credentials.h"

#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"

namespace tony::rpc {
namespace {

constexpr char kCertificateEnd[] = "-----END CERTIFICATE-----\n";
constexpr char kKeyEnd[] = "-----END PRIVATE KEY-----\n";

// Removes the text up to and including the next `end_line` from `rest` and returns it; empty if
// there is no such line.
std::string TakeBlock(std::string& rest, const std::string& end_line) {
  const size_t position = rest.find(end_line);
  if (position == std::string::npos) return "";
  std::string block = rest.substr(0, position + end_line.size());
  rest.erase(0, block.size());
  return block;
}

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

std::string FormatCredentials(const Credentials& credentials) {
  return absl::StrCat(credentials.certificate_pem, credentials.key_pem, credentials.ca_pem);
}

absl::StatusOr<Credentials> ParseCredentials(std::string text, const std::string& origin) {
  Credentials credentials;
  credentials.certificate_pem = TakeBlock(text, kCertificateEnd);
  credentials.key_pem = TakeBlock(text, kKeyEnd);
  credentials.ca_pem = TakeBlock(text, kCertificateEnd);
  if (!text.empty() || !StartsWith(credentials.certificate_pem, "-----BEGIN CERTIFICATE-----") ||
      !StartsWith(credentials.key_pem, "-----BEGIN PRIVATE KEY-----") ||
      !StartsWith(credentials.ca_pem, "-----BEGIN CERTIFICATE-----")) {
    return absl::InvalidArgumentError(
        absl::StrCat(origin, " does not hold a certificate, a private key and an authority"));
  }
  return credentials;
}

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return os::ErrnoError(errno, path);
  if ((info.st_mode & 077) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        path, " holds a secret and others than its owner may read or write it; run: chmod 600 ",
        os::Quoted(path)));
  }
  return os::ReadFile(path);
}

absl::StatusOr<Credentials> LoadCredentials(const std::string& path) {
  TONY_ASSIGN_OR_RETURN(std::string text, ReadSecretFile(path));
  return ParseCredentials(std::move(text), path);
}

}  // namespace tony::rpc
