// A small ordered JSON value for output: integers of any size stay exact, keys keep their order.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/count.hpp"
#include "base/ratio.hpp"
#include "base/utf8.hpp"

namespace einflow {

class Json {
 public:
  static Json object() { return Json(Kind::object); }
  static Json array() { return Json(Kind::array); }
  static Json array_of(const std::vector<std::string>& strings);

  Json(Count value);               // NOLINT: an exact integer
  Json(const Ratio& value);        // NOLINT: exact where its decimals end, else the nearest double
  Json(double value);              // NOLINT: shortest digits that read back to it; null where it is not finite
  Json(const std::string& value);  // NOLINT
  Json(const char* value);         // NOLINT
  template <std::same_as<bool> B>
  Json(B value) : text_(value ? "true" : "false") {}  // NOLINT

  /// Adds to an object; the key must be new.
  Json& set(std::string_view key, Json value);
  /// Whether an object has the key.
  bool has(std::string_view key) const;
  /// Adds to an array.
  Json& push(Json value);

  /// Indented by two; an object or array that fits on a line of 120 stays on one.
  std::string str() const;

 private:
  enum class Kind { leaf, object, array };
  explicit Json(Kind kind) : kind_(kind) {}
  std::string flat() const;
  void write(std::string& out, std::size_t indent, std::size_t used) const;

  Kind kind_ = Kind::leaf;
  std::string text_;                                   ///< a leaf, as it is written
  std::vector<std::pair<std::string, Json>> members_;  ///< of an object, or (keys empty) an array
};

}  // namespace einflow
