// What fuzz targets say about a result that breaks a promise: they stop the program, which a fuzzer sees.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/diagnostic.hpp"

namespace einflow {

inline void expect(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

/// A failure has at least one message, no empty one, and each can be shown beside the source.
inline void expect_explained(const Diagnostics& errors, const SourceText& source) {
  expect(!errors.empty(), "a failure has a message");
  for (const Diagnostic& error : errors) expect(!error.message.empty(), "no message is empty");
  expect(!render(errors, source).empty(), "messages can be shown");
}

}  // namespace einflow
