// Renders docs/configuration.md from the key table, and its parts for the manual page.
#pragma once

#include <string>

#include "jobfile/keys/key_group.h"

namespace tony::jobfile {

/// The whole document, in Markdown.
std::string RenderConfigurationDocs();

/// The document up to the first group of keys: the form of the file, layers, values, task types.
std::string RenderIntroduction();

/// The form of a key's values, e.g. "count, 1 or more", and its support in this version, e.g.
/// "works on the yarn backend". Both are Markdown.
std::string TypeText(const Key& key);
std::string StatusText(const Key& key);

}  // namespace tony::jobfile
