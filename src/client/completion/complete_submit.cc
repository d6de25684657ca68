// tony-submit starts jobs and never takes the name of one, so no folder is read.
#include "client/completion/complete_submit.h"

#include "client/cli/options.h"
#include "client/completion/complete_arguments.h"

namespace tony::client {

std::string CompleteSubmit(std::vector<std::string> words) {
  if (words.empty()) words.emplace_back();
  const CommandShape shape = {SubmitTable(), "job.xml"};
  return RenderCompletion(
      CompleteArguments(shape, words, [](const CommandLine&) { return std::string(); }));
}

}  // namespace tony::client
