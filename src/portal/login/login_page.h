// The pages of the login, which need no scripts.
#pragma once

#include <string>

#include "web/http/http_message.h"

namespace tony::portal {

/// A form for name and password. `next`: the path to go to after it; `wrong`: a sentence about the
/// attempt before, or empty.
web::HttpResponse LoginPage(int status, const std::string& next, const std::string& wrong);

/// A form that ends the session of `user`.
web::HttpResponse LogoutPage(const std::string& user);

/// A page that asks for itself again at once. A browser that comes by another site's link sends no
/// cookie that is SameSite=Strict; with the second request it does.
web::HttpResponse AskAgainPage();

/// `path` if it is a page of the portal, else "/": the form's field `next` may be anybody's.
std::string SafeNext(const std::string& path);

}  // namespace tony::portal
