// The stores that need no template.
#include "common/option_store.h"

#include "absl/strings/str_split.h"

namespace tony {

OptionStore StoreFlag(bool& target) {
  return [&target](const std::string&) {
    target = true;
    return absl::OkStatus();
  };
}

OptionStore StoreText(std::string& target) {
  return [&target](const std::string& text) {
    target = text;
    return absl::OkStatus();
  };
}

OptionStore StoreList(std::vector<std::string>& target, char separator) {
  return [&target, separator](const std::string& text) {
    for (const absl::string_view item : absl::StrSplit(text, separator, absl::SkipEmpty())) {
      target.emplace_back(item);
    }
    return absl::OkStatus();
  };
}

OptionStore StoreMilliseconds(std::chrono::milliseconds& target, int64_t least) {
  return StoreParsed(
      target, [least](const std::string& text) -> absl::StatusOr<std::chrono::milliseconds> {
        TONY_ASSIGN_OR_RETURN(const int64_t count,
                              ParseNumber<int64_t>(text, "a number of milliseconds", least));
        return std::chrono::milliseconds(count);
      });
}

}  // namespace tony
