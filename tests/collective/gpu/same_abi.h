// Whether two functions are called in the same way, though their types have other names.
#pragma once

#include <type_traits>

namespace tony::collective {

template <typename A, typename B>
constexpr bool IsPassedAlike() {
  return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B> &&
         std::is_floating_point_v<A> == std::is_floating_point_v<B> &&
         std::is_class_v<A> == std::is_class_v<B>;
}

template <typename First, typename Second>
struct SameAbi : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct SameAbi<R(A...), S (*)(B...)>
    : std::bool_constant<IsPassedAlike<R, S>() && (IsPassedAlike<A, B>() && ...)> {
};

}  // namespace tony::collective
