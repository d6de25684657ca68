// Rendering of problems: file:line: key: message; remedy.
#include "spec/problem.h"

#include "absl/strings/str_cat.h"

namespace tony::spec {

std::string RenderProblem(const Problem& problem) {
  std::string text = problem.file;
  if (problem.line > 0) absl::StrAppend(&text, ":", problem.line);
  if (!text.empty()) text += ": ";
  if (!problem.key.empty()) absl::StrAppend(&text, problem.key, ": ");
  text += problem.message;
  if (!problem.remedy.empty()) absl::StrAppend(&text, "; ", problem.remedy);
  return text;
}

std::string RenderProblems(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) absl::StrAppend(&text, RenderProblem(problem), "\n");
  return text;
}

}  // namespace tony::spec
