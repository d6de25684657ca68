// Every text from outside passes web::Escape().
#include "portal/login/login_page.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "web/http/html.h"
#include "web/page_files.h"

namespace tony::portal {
namespace {

std::string Page(const std::string& title, const std::string& body) {
  return absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                      "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/",
                      web::PageStyle().name, "\">\n<title>", title, "</title>\n</head>\n",
                      "<body class=\"plain\">\n<main class=\"login\">\n<h1>", title, "</h1>\n",
                      body, "</main>\n</body>\n</html>\n");
}

}  // namespace

web::HttpResponse LoginPage(int status, const std::string& next, const std::string& wrong) {
  web::HttpResponse response;
  response.status = status;
  response.has_form = true;
  response.body =
      Page("tony's portal",
           absl::StrCat(
               wrong.empty()
                   ? ""
                   : absl::StrCat("<p class=\"bad\" role=\"alert\">", web::Escape(wrong), "</p>\n"),
               "<form method=\"post\" action=\"/login\">\n",
               "<label>Name <input name=\"name\" autocomplete=\"username\" autocapitalize=\"none\" "
               "maxlength=\"64\" required autofocus></label>\n",
               "<label>Password <input name=\"password\" type=\"password\" "
               "autocomplete=\"current-password\" maxlength=\"1024\" required></label>\n",
               "<input type=\"hidden\" name=\"next\" value=\"", web::Escape(next), "\">\n",
               "<button>Log in</button>\n</form>\n"));
  return response;
}

web::HttpResponse LogoutPage(const std::string& user) {
  web::HttpResponse response;
  response.has_form = true;
  response.body =
      Page("tony's portal",
           absl::StrCat("<p>You are logged in as ", web::Escape(user), ".</p>\n",
                        "<form method=\"post\" action=\"/logout\">\n",
                        "<button>Log out</button>\n<a href=\"/\">Back</a>\n", "</form>\n"));
  return response;
}

web::HttpResponse AskAgainPage() {
  web::HttpResponse response;
  response.body =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta http-equiv=\"refresh\" content=\"0\"><title>tony's portal</title></head>\n"
      "<body><p>One moment …</p></body></html>\n";
  return response;
}

std::string SafeNext(const std::string& path) {
  constexpr size_t kLongest = 512;
  const bool plain = std::all_of(path.begin(), path.end(), [](unsigned char letter) {
    return absl::ascii_isalnum(letter) || letter == '/' || letter == '-' || letter == '_' ||
           letter == '.' || letter == '@';
  });
  return plain && path.size() <= kLongest && absl::StartsWith(path, "/jobs/") ? path : "/";
}

}  // namespace tony::portal
