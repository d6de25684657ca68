// The files of the live page, which are built from src/web/page and are part of the program.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "web/http/http_message.h"

namespace tony::web {

/// Plain data.
struct PageFile {
  absl::string_view name;  ///< contains a digest of the content
  absl::string_view content_type;
  absl::string_view packed;  ///< gzip
};

/// The script of a job's page.
PageFile PageScript();
/// The script of the portal's list of jobs.
PageFile PortalScript();
/// The pages' style sheet, which the page without scripts has too.
PageFile PageStyle();

/// Returns the file that is called `name`, compressed if the client accepts it; nothing if there is
/// none. Browsers may keep it for ever.
std::optional<HttpResponse> FindPageFile(absl::string_view name, bool accepts_gzip);

}  // namespace tony::web
