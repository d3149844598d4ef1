// A parallel scheme by name from the command line, and the sizes it is asked with.
#pragma once

#include <optional>
#include <string>

#include "cli/spec_input.hpp"
#include "cluster/schemes.hpp"

namespace einflow {

struct SchemeArguments {
  std::string devices;             ///< "8", "2x4"
  std::uint64_t microbatches = 0;  ///< 0 = not given
};

void add_scheme_arguments(CommandArguments& command, SchemeArguments& arguments);

/// The words of the command line as the name of something, where they are no file and no text in a notation.
std::optional<std::string> term_of(const SpecArguments& arguments);

/// The sizes. Errors: what is no size, flags that belong to a spec.
Result<cluster::SchemeSizes> scheme_sizes(const SpecArguments& spec, const SchemeArguments& scheme);

}  // namespace einflow
