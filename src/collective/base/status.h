// Success, or an error with its sentence.
//
// Elsewhere in tony this is absl::Status. The collective library is loaded into the user's Python,
// and Debian's static abseil is not made for shared libraries (it has thread-local data of programs
// only), so it does without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tony::collective {

enum class Code : uint8_t {
  kOk,
  kInvalidArgument,     ///< what the caller passed can never work
  kFailedPrecondition,  ///< not initialized, already shut down, the group has failed
  kDeadlineExceeded,    ///< somebody did not come in time
  kAborted,             ///< a rank has ended or given up
  kResourceExhausted,   ///< no memory, no descriptors
  kInternal,            ///< the operating system refused what it should not refuse
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

/// A value, or the error that kept it from being made.
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
