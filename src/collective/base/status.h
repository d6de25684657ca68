// A status: success, or an error code with a message.
//
// Elsewhere tony uses absl::Status. The collective library is loaded into the user's Python, and
// Debian's static abseil cannot be part of a shared library (its thread-local data works in
// programs only), so the library has its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tony::collective {

enum class Code : uint8_t {
  kOk,
  kInvalidArgument,     ///< the caller's arguments can never work
  kFailedPrecondition,  ///< not initialized, already shut down, the group has failed
  kDeadlineExceeded,    ///< a rank did not come in time
  kAborted,             ///< a rank has ended or given up
  kResourceExhausted,   ///< no memory, no descriptors
  kInternal,            ///< an unexpected error of the operating system
};

class [[nodiscard]] Status {
 public:
  Status() = default;  ///< success
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// A value, or the status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& operator*() { return *value_; }
  T* operator->() { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace tony::collective
