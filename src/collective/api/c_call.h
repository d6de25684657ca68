// Turns the result of a call of the C API into a number, and its error into a message.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "collective/base/status.h"

namespace tony::collective {

/// The message of this thread's last call that failed.
inline std::string& LastError() {
  thread_local std::string error;
  return error;
}

inline int Told(const Status& status) {
  if (!status.ok()) LastError() = status.message();
  return static_cast<int>(status.code());
}

/// Returns what `call` returns. An exception becomes a status here, since the caller may be written
/// in any language.
template <typename Returned, typename Call>
Returned WithoutExceptions(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "not enough memory");
  } catch (const std::exception& error) {
    // The standard library throws it when a thread cannot be started.
    return Status(Code::kResourceExhausted, error.what());
  }
}

/// InvalidArgument – `options` is null, or shorter than in this library's header.
template <typename Options>
Status CheckVersion(const Options* options) {
  if (options != nullptr && options->struct_size >= sizeof(*options)) return {};
  return {Code::kInvalidArgument,
          "the options are another version's: build with the header of this library"};
}

template <typename Call>
int CallForCode(Call call) {
  return Told(WithoutExceptions<Status>(std::move(call)));
}

/// Returns the number, or a code times -1.
template <typename Call>
int64_t CallForNumber(Call call) {
  using Returned = decltype(call());
  Returned result = WithoutExceptions<Returned>(std::move(call));
  return result.ok() ? static_cast<int64_t>(*result) : -static_cast<int64_t>(Told(result.status()));
}

}  // namespace tony::collective
