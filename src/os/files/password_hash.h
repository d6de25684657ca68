// Hashes of passwords, made so that trying many passwords is expensive.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace tony::os {

/// The hash of `password` by scrypt (RFC 7914) with a new random salt, as
/// "$scrypt$ln=16,r=8,p=2$SALT$KEY": a check takes 64 MiB and about a quarter of a second of a
/// core. Internal – OpenSSL has no scrypt, which is so in a process that has called
/// rpc::SetUpTls(). Thread safe.
absl::StatusOr<std::string> HashPassword(const std::string& password);

/// Whether `hash` is of the form that CheckPassword() reads: that of HashPassword(), with costs of
/// at most 128 MiB. Thread safe.
bool IsPasswordHash(const std::string& hash);

/// Whether `hash` is of `password`. The time does not tell how much of it is right. InvalidArgument
/// – `hash` is none. Internal – as for HashPassword(). Thread safe.
absl::StatusOr<bool> CheckPassword(const std::string& password, const std::string& hash);

}  // namespace tony::os
