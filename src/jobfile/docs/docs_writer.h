// Renders docs/configuration.md from the key table.
#pragma once

#include <string>

namespace tony::jobfile {

/// The whole document, in Markdown.
std::string RenderConfigurationDocs();

}  // namespace tony::jobfile
