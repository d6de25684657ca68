// A set of names, because environments of clusters have hundreds of variables.
#include "common/overlay_variables.h"

#include <set>

namespace tony {
namespace {

std::string NameOf(const std::string& variable) { return variable.substr(0, variable.find('=')); }

}  // namespace

std::vector<std::string> OverlaidVariables(const std::vector<std::string>& base,
                                           const std::vector<std::string>& added) {
  std::set<std::string> replaced;
  for (const std::string& variable : added) replaced.insert(NameOf(variable));
  std::vector<std::string> overlaid;
  for (const std::string& variable : base) {
    if (!replaced.contains(NameOf(variable))) overlaid.push_back(variable);
  }
  overlaid.insert(overlaid.end(), added.begin(), added.end());
  return overlaid;
}

}  // namespace tony
