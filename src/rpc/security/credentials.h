// What one process of a job proves its role with, and the file in which it is handed over.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace tony::rpc {

/// One certificate, its private key and the authority that the peer's certificate is checked
/// against, each as PEM text.
/// Contains a secret: never logged. Not thread safe (plain data).
struct Credentials {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;

  bool operator==(const Credentials&) const = default;
};

/// The text of one PEM file: certificate, key, authority.
std::string FormatCredentials(const Credentials& credentials);
/// Its inverse; `origin` is named in the message. InvalidArgument – it is not that.
absl::StatusOr<Credentials> ParseCredentials(std::string text, const std::string& origin);

/// NotFound – no such file; PermissionDenied – it can be read by others than its owner (the message
/// says what to do), or not by us; InvalidArgument – it is no text of FormatCredentials().
absl::StatusOr<Credentials> LoadCredentials(const std::string& path);

/// The contents of a file that only its owner may read.
/// NotFound – no such file; PermissionDenied – others can read it, or we cannot.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace tony::rpc
