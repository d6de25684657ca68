#include "collective/request.h"

namespace tony::collective {

std::string Request::ShapeText() const {
  std::string text = std::string(NameOf(kind.type)) + "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace tony::collective
