// Only the compressed files are in the program: nearly all clients take them as they are.
#include "web/page_files.h"

#include "web/http/gzip.h"

namespace tony::web {

std::optional<HttpResponse> FindPageFile(absl::string_view name, bool accepts_gzip) {
  for (const PageFile& file : {PageScript(), PortalScript(), PageStyle()}) {
    if (file.name != name) continue;
    HttpResponse response;
    response.content_type = std::string(file.content_type);
    response.headers = {{"Cache-Control", "max-age=31536000, immutable"},
                        {"Vary", "Accept-Encoding"}};
    if (accepts_gzip) {
      response.headers.emplace_back("Content-Encoding", "gzip");
      response.body = std::string(file.packed);
    } else {
      response.body = Gunzip(std::string(file.packed));
    }
    return response;
  }
  return std::nullopt;
}

}  // namespace tony::web
