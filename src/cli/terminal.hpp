// Where a report and messages go: the answer to standard output, everything else to standard error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "report/layout.hpp"

namespace einflow {

/// Colour where standard output is a terminal and NO_COLOR is not set.
TextStyle output_style();

/// Writes to standard output. A reader that has gone away is no error.
void print(const std::string& text);
/// Whether everything printed so far has been taken by standard output.
bool all_printed();

/// Writes to standard error.
void print_message(const std::string& text);
void print_errors(const Diagnostics& errors, const SourceText& source);
void print_errors_in(const Diagnostics& errors, const std::vector<SourceText>& sources);

/// A bar on standard error where that is a terminal, else a function that does nothing.
std::function<void(Count done, Count total)> progress_bar();
/// A line on standard error that is written over a few times a second, where that is a terminal, else an empty
/// function.
std::function<void(const std::string& text)> progress_line();
/// Wipes the bar or the line.
void clear_progress_bar();

}  // namespace einflow
