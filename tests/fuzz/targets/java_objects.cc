// Java objects in the index of collected logs, of whoever may write to the cluster's folder of
// logs.
//
// Besides not crashing: what an object has is a part of the input, there are no more objects than
// bytes, and an error is DataLoss or Unimplemented.
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "hadoop/logs/java_objects.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/targets.h"

namespace tony::fuzz {

void FuzzJavaObjects(std::string_view input) {
  const std::string bytes(input);
  const auto is_part = [&](std::string_view text) {
    constexpr std::less_equal<const char*> not_after;
    return text.empty() || (not_after(bytes.data(), text.data()) &&
                            not_after(text.data() + text.size(), bytes.data() + bytes.size()));
  };
  size_t objects = 0;
  const absl::Status read = hadoop::ForEachJavaObject(bytes, [&](const hadoop::JavaObject& object) {
    ++objects;
    Require(is_part(object.type), "a class's name is a part of the input");
    for (const auto& [name, value] : object.fields) {
      Require(is_part(name), "a field's name is a part of the input");
      const auto* text = std::get_if<std::string_view>(&value);
      Require(text == nullptr || is_part(*text), "a field's text is a part of the input");
    }
  });
  Require(objects <= bytes.size(), "an object takes a byte at least");
  Require(read.ok() || absl::IsDataLoss(read) || absl::IsUnimplemented(read),
          "an error is DataLoss or Unimplemented");
}

}  // namespace tony::fuzz
