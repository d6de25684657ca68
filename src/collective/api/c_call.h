// How a call of the C API becomes a number and a sentence.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "collective/base/status.h"

namespace tony::collective {

/// Of this thread's last call that failed.
inline std::string& LastError() {
  thread_local std::string error;
  return error;
}

inline int Told(const Status& status) {
  if (!status.ok()) LastError() = status.message();
  return static_cast<int>(status.code());
}

/// What `call` returns; what it throws ends here, since its caller may be written in any language.
template <typename Returned, typename Call>
Returned WithoutExceptions(Call call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status(Code::kResourceExhausted, "not enough memory");
  } catch (const std::exception& error) {
    // The standard library's: a thread that cannot be started.
    return Status(Code::kResourceExhausted, error.what());
  }
}

/// Ok, or InvalidArgument: there are none, or they lack what this library's header has.
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

/// Below 0: a code.
template <typename Call>
int64_t CallForNumber(Call call) {
  using Returned = decltype(call());
  Returned result = WithoutExceptions<Returned>(std::move(call));
  return result.ok() ? static_cast<int64_t>(*result) : -static_cast<int64_t>(Told(result.status()));
}

}  // namespace tony::collective
