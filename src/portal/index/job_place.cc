// A location is laid out like the folder of tony.local.dir.
#include "portal/index/job_place.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace tony::portal {
namespace {

constexpr size_t kLongestJobName = 200;

}  // namespace

bool IsJobName(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.size() <= kLongestJobName &&
         std::all_of(name.begin(), name.end(), [](unsigned char letter) {
           return absl::ascii_isalnum(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

storage::JobFolder FolderOf(const std::string& location, const std::string& job_id) {
  return storage::JobFolder(absl::StrCat(storage::JobsFolder(location), "/", job_id));
}

}  // namespace tony::portal
