// Answers --version for the daemons.
#include "common/version.h"

#include <unistd.h>

#include <string>
#include <string_view>

#include "common/safe_text.h"

namespace tony {

bool AnswersVersion(int argc, char** argv, const std::string& version) {
  if (argc != 2) return false;
  const std::string_view argument = argv[1];
  if (argument != "--version" && argument != "-version") return false;
  (void)PrintForPeople(STDOUT_FILENO, version + "\n");
  return true;
}

}  // namespace tony
