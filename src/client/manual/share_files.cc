// bash and fish look for a file named like the program, so the script for both programs lies there
// twice.
#include "client/manual/share_files.h"

#include "absl/strings/str_cat.h"
#include "client/completion/shell_scripts.h"
#include "client/manual/manual_pages.h"

namespace tony::client {

std::vector<ShareFile> ShareFiles() {
  std::vector<ShareFile> files;
  for (const ManualPage& page : ManualPages()) {
    files.push_back(
        {absl::StrCat("man/man", page.file.substr(page.file.size() - 1), "/", page.file),
         page.text});
  }
  for (const char* program : {"tony", "tony-submit"}) {
    files.push_back(
        {absl::StrCat("bash-completion/completions/", program), CompletionScript("bash")});
    files.push_back(
        {absl::StrCat("fish/vendor_completions.d/", program, ".fish"), CompletionScript("fish")});
  }
  files.push_back({"zsh/site-functions/_tony", CompletionScript("zsh")});
  return files;
}

}  // namespace tony::client
