// What is written as an expression reads back as the same einsum, with the same counts; what no expression says is
// refused. EINFLOW_PROPERTY_CASES and EINFLOW_PROPERTY_SEED choose how many einsums and which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <random>

#include "movement/movement.hpp"
#include "notation/python/python.hpp"
#include "problem/constructors.hpp"
#include "problem/einsum_check.hpp"
#include "support/builders.hpp"
#include "support/for_random_specs.hpp"
#include "support/random_spec.hpp"

namespace einflow {
namespace {

using testing::from_environment;

class RandomEinsums {
 public:
  explicit RandomEinsums(std::uint64_t seed) : random_(seed) {}

  Einsum next(std::map<std::string, int>& seen) {
    switch (below(10)) {
      case 0:
        return reduction(seen);
      case 1:
        return elementwise(seen);
      case 2:
      case 3:
      case 4:
        return windows(seen);
      default:
        return product(seen);
    }
  }

  std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

 private:
  template <typename Thing>
  const Thing& one_of(const std::vector<Thing>& things) {
    return things[below(things.size())];
  }

  ElementType type() {
    return *find_element_type(one_of<std::string>({"bf16", "fp32", "int8", "int32", "12-bit", "e4m3", "bool"}));
  }

  /// Distinct names, of one letter or longer.
  void name_ranks(Einsum& einsum, std::map<std::string, int>& seen) {
    const bool long_names = below(3) == 0;
    std::vector<std::string> names =
        long_names ? std::vector<std::string>{"batch", "head2", "q", "in_features", "Out", "k", "x1"}
                   : std::vector<std::string>{"m", "n", "k", "B", "a", "z", "Q"};
    std::shuffle(names.begin(), names.end(), random_);
    for (std::size_t r = 0; r < einsum.ranks.size(); ++r) einsum.ranks[r].name = names[r];
    ++seen[long_names ? "long names" : "letters"];
  }

  /// Types; every third time the output's own.
  void choose_types(Einsum& einsum, std::map<std::string, int>& seen) {
    const ElementType common = type();
    for (Tensor& tensor : einsum.tensors) tensor.type = common;
    if (below(3) == 0) {
      einsum.tensors.back().type = type();
      ++seen["an output type of its own"];
    }
    if (below(6) == 0) {
      einsum.tensors.front().type = type();
      einsum.tensors.back().type = type();
      ++seen["mixed types"];
    }
  }

  Tensor tensor(const std::string& name, const std::vector<int>& ranks) {
    Tensor made;
    made.name = name;
    for (const int rank : ranks) made.axes.push_back({{{rank, 1}}, 0, std::nullopt});
    return made;
  }

  std::vector<int> some_ranks(std::size_t count, std::size_t one_in) {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < count; ++r) {
      if (below(one_in) != 0) ranks.push_back(static_cast<int>(r));
    }
    std::shuffle(ranks.begin(), ranks.end(), random_);
    return ranks;
  }

  /// Every rank is in some input.
  Einsum product(std::map<std::string, int>& seen) {
    Einsum einsum;
    const std::size_t ranks = 1 + below(6), inputs = 1 + below(4);
    for (std::size_t r = 0; r < ranks; ++r) einsum.ranks.push_back({"", static_cast<std::int64_t>(1 + below(5))});
    name_ranks(einsum, seen);
    std::vector<bool> used(ranks, false);
    for (std::size_t i = 0; i < inputs; ++i) {
      std::vector<int> own = some_ranks(ranks, 2);
      for (const int r : own) used[static_cast<std::size_t>(r)] = true;
      if (i + 1 == inputs) {
        for (std::size_t r = 0; r < ranks; ++r) {
          if (!used[r]) own.push_back(static_cast<int>(r));
        }
      }
      if (own.empty()) ++seen["a scalar operand"];
      einsum.tensors.push_back(tensor(one_of<std::string>({"X", "A_1", "weight"}) + std::to_string(i), own));
    }
    std::vector<int> output = some_ranks(ranks, 3);
    if (inputs == 1 && output.size() == ranks) output.pop_back();
    einsum.tensors.push_back(tensor("Y", output));
    einsum.reduce = output.size() == ranks ? "" : "+";
    ++seen[output.size() == ranks ? "nothing summed" : "summed"];
    ++seen[fmt::format("{} inputs", inputs)];
    if (output.empty()) ++seen["a scalar output"];
    if (below(4) == 0) {
      einsum.tensors[0].axes.empty() ? 0 : ++seen["stored sizes"];
      for (Axis& axis : einsum.tensors[0].axes) {
        axis.stored_size = einsum.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent;
      }
    }
    choose_types(einsum, seen);
    return einsum;
  }

  Einsum reduction(std::map<std::string, int>& seen) {
    Einsum einsum;
    const std::size_t ranks = 1 + below(5);
    for (std::size_t r = 0; r < ranks; ++r) einsum.ranks.push_back({"", static_cast<std::int64_t>(1 + below(5))});
    name_ranks(einsum, seen);
    std::vector<int> all, output;
    for (std::size_t r = 0; r < ranks; ++r) all.push_back(static_cast<int>(r));
    output = some_ranks(ranks, 2);
    if (output.size() == ranks) output.pop_back();
    einsum.tensors = {tensor("X", all), tensor("Y", output)};
    einsum.reduce = one_of<std::string>({"max", "min", "*"});
    ++seen["reduced by " + einsum.reduce];
    choose_types(einsum, seen);
    return einsum;
  }

  Einsum elementwise(std::map<std::string, int>& seen) {
    Einsum einsum;
    einsum.ranks = {{"m", static_cast<std::int64_t>(2 + below(4))}, {"n", static_cast<std::int64_t>(2 + below(4))}};
    einsum.reduce = "";
    const bool function = below(2) == 0;
    einsum.map = function ? one_of<std::string>({"exp", "relu", "gelu", "rsqrt"})
                          : one_of<std::string>({"+", "-", "/", "max", "min"});
    ++seen[function ? "a function" : "an operator"];
    einsum.tensors = {tensor("X", {0, 1})};
    if (!function) einsum.tensors.push_back(below(2) == 0 ? tensor("Z", {1}) : tensor("Z", {0, 1}));
    einsum.tensors.push_back(tensor("Y", {0, 1}));
    choose_types(einsum, seen);
    return einsum;
  }

  Einsum windows(std::map<std::string, int>& seen) {
    for (;;) {
      Convolution shape;
      shape.batch = static_cast<std::int64_t>(1 + below(2));
      shape.groups = one_of<std::int64_t>({1, 1, 2, 3});
      const bool depthwise = below(4) == 0;
      shape.in_channels = depthwise ? 2 + static_cast<std::int64_t>(below(2))
                                    : shape.groups * (1 + static_cast<std::int64_t>(below(3)));
      shape.out_channels = (depthwise ? shape.in_channels : shape.groups) * (1 + static_cast<std::int64_t>(below(2)));
      const std::size_t axes = 1 + below(3);
      for (std::size_t a = 0; a < axes; ++a) {
        shape.axes.push_back({static_cast<std::int64_t>(1 + below(9)), static_cast<std::int64_t>(1 + below(3)),
                              static_cast<std::int64_t>(1 + below(3)), static_cast<std::int64_t>(below(3)),
                              static_cast<std::int64_t>(1 + below(2)), 0});
      }
      const bool grouped_by_one = !depthwise && shape.groups > 1 && shape.groups == shape.in_channels;
      if (grouped_by_one) continue;  // PyTorch's call for it is the depthwise one
      auto made = depthwise ? depthwise_convolution(shape) : convolution(shape);
      if (!made || !check_sizes(*made).empty()) continue;
      ++seen[depthwise ? "depthwise" : shape.groups > 1 ? "groups" : "convolution"];
      ++seen[fmt::format("{} axes", axes)];
      choose_types(*made, seen);
      return *made;
    }
  }

  std::mt19937_64 random_;
};

/// The einsum with its ranks in order of first use, without a name and without stored sizes that say nothing.
Einsum plain(const Einsum& einsum) {
  Einsum made = einsum;
  made.name.clear();
  std::vector<int> order;
  const auto use = [&](const Tensor& tensor) {
    for (const Axis& axis : tensor.axes) {
      for (const Term& term : axis.terms) {
        if (std::find(order.begin(), order.end(), term.rank) == order.end()) order.push_back(term.rank);
      }
    }
  };
  use(einsum.tensors.back());
  for (const Tensor& tensor : einsum.tensors) use(tensor);
  made.ranks.clear();
  for (const int rank : order) made.ranks.push_back(einsum.ranks[static_cast<std::size_t>(rank)]);
  for (Tensor& tensor : made.tensors) {
    for (Axis& axis : tensor.axes) {
      for (Term& term : axis.terms) {
        term.rank = static_cast<int>(std::find(order.begin(), order.end(), term.rank) - order.begin());
      }
      const bool whole = axis.terms.size() == 1 && axis.terms[0].coefficient == 1 && axis.constant == 0 &&
                         axis.stored_size == made.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent;
      if (whole) axis.stored_size.reset();
    }
  }
  return made;
}

Document document_with(const Einsum& einsum) {
  Document document;
  document.layers.push_back({"", 1, {"", {einsum}}, {}, {}, {}});
  return document;
}

/// The only einsum of a text; nothing where the text has another number of them.
std::optional<Einsum> read_back(const std::string& text) {
  const SourceText source{"text", text};
  if (!is_python(source)) return std::nullopt;
  const auto document = read_python({source}, {});
  if (!document || document->layers.size() != 1 || document->layers[0].cascade.einsums.size() != 1) return std::nullopt;
  return document->layers[0].cascade.einsums[0];
}

/// Counts on two storages, every rank cut once.
Counts counts_of(const Einsum& einsum, std::int64_t tile) {
  std::string nest, inner;
  std::vector<Rank> ranks = einsum.ranks;
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) { return a.name < b.name; });
  for (const Rank& rank : ranks) {
    nest += fmt::format("for {} by {}\n", rank.name, std::min(tile, rank.extent));
    inner += fmt::format("for {} by 1\n", rank.name);
  }
  nest += "at Buffer:";
  for (const Tensor& tensor : einsum.tensors) nest += " " + tensor.name;
  const Spec spec = testing::spec(einsum, testing::two_level(), nest + "\n" + inner);
  const auto counts = count_movement(spec);
  if (!counts) throw std::runtime_error(render(counts.error(), {}));
  return *counts;
}

TEST(PythonProperty, WhatIsWrittenReadsBackWithTheSameCounts) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  RandomEinsums random(from_environment("EINFLOW_PROPERTY_SEED", 1));
  std::map<std::string, int> seen;
  int wrong = 0;
  for (int i = 0; i < cases && wrong < 3; ++i) {
    const Einsum einsum = random.next(seen);
    ASSERT_TRUE(check_form(einsum).empty()) << to_text(einsum);
    const auto writing = write_python(document_with(einsum));
    if (!writing) {
      ADD_FAILURE() << to_text(einsum) << "\n" << render(writing.error(), {});
      ++wrong;
      continue;
    }
    const auto back = read_back(writing->text);
    if (!back || plain(*back) != plain(einsum)) {
      ADD_FAILURE() << to_text(einsum) << "\nis written as\n"
                    << writing->text << "which is\n"
                    << (back ? to_text(*back) : "no einsum");
      ++wrong;
      continue;
    }
    const auto tile = static_cast<std::int64_t>(1 + random.below(3));
    if (counts_of(*back, tile) != counts_of(einsum, tile)) {
      ADD_FAILURE() << "other counts:\n" << writing->text;
      ++wrong;
    }
  }
  for (const char* feature : {"letters",        "long names",       "an output type of its own",
                              "mixed types",    "a scalar operand", "a scalar output",
                              "nothing summed", "summed",           "1 inputs",
                              "2 inputs",       "3 inputs",         "4 inputs",
                              "stored sizes",   "reduced by max",   "reduced by min",
                              "reduced by *",   "a function",       "an operator",
                              "convolution",    "groups",           "depthwise",
                              "1 axes",         "2 axes",           "3 axes"}) {
    EXPECT_TRUE(seen[feature] > 0 || cases < 1000) << "never generated: " << feature;
  }
}

TEST(PythonProperty, OtherEinsumsAreRefusedOrReadBackAsTheyAre) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  int written = 0, refused = 0;
  testing::expect_for_random_specs("python_round_trip", cases, [&](const Spec& spec) -> std::string {
    const auto writing = write_python(document_with(spec.einsum));
    if (!writing) {
      ++refused;
      return writing.error().empty() || writing.error().front().message.empty() ? "refused without a reason" : "";
    }
    ++written;
    const auto back = read_back(writing->text);
    if (!back) return "reads as no einsum:\n" + writing->text;
    return plain(*back) == plain(spec.einsum) ? "" : "reads as another einsum:\n" + writing->text;
  });
  std::cout << fmt::format("{} written, {} refused\n", written, refused);
  EXPECT_TRUE((written > 0 && refused > 0) || cases < 1000);
}

}  // namespace
}  // namespace einflow
