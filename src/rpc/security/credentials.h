// The credentials by which one process of a job proves its role, and their file format.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::rpc {

/// One certificate, its private key, and the authority against which the peer's certificate is
/// checked, each as PEM text. Contains a secret: never logged. Not thread safe (plain data).
struct Credentials {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;

  bool operator==(const Credentials&) const = default;
};

/// The text of one PEM file: certificate, key, authority.
std::string FormatCredentials(const Credentials& credentials);
/// The inverse of FormatCredentials(); error messages name `origin`. InvalidArgument – `text` has
/// another form.
absl::StatusOr<Credentials> ParseCredentials(std::string text, const std::string& origin);

/// NotFound – no such file. PermissionDenied – users other than the owner can read the file (the
/// message says what to do), or this process cannot. InvalidArgument – the file holds no text of
/// FormatCredentials().
absl::StatusOr<Credentials> LoadCredentials(const std::string& path);

/// The contents of a file that only its owner may read. NotFound – no such file. PermissionDenied –
/// other users can read it, or this process cannot.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace tony::rpc
