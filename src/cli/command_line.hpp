// The arguments of a command, declared without the parser's (heavy) header: only command_line.cpp includes it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace einflow {

/// Declares what a command takes. The variables must live until the command has run.
class CommandArguments {
 public:
  explicit CommandArguments(CLI::App& app) : app_(app) {}
  void positional(const char* name, std::string& value, const char* help);
  /// Any number of values.
  void positionals(const char* name, std::vector<std::string>& values, const char* help);
  void flag(const char* names, bool& value, const char* help);
  void text(const char* names, std::string& value, const char* type, const char* help);
  void number(const char* names, std::uint64_t& value, const char* type, const char* help);
  /// Repeatable.
  void folders(const char* names, std::vector<std::string>& values, const char* type, const char* help);
  /// Repeatable; what a value holds is its own affair.
  void texts(const char* names, std::vector<std::string>& values, const char* type, const char* help);
  /// Repeatable, and several values in one text, separated by commas.
  void comma_separated(const char* names, std::vector<std::string>& values, const char* type, const char* help);

 private:
  CLI::App& app_;
};

/// One command of the program. `declare` names its arguments and returns what runs it; that returns the exit
/// status.
struct Command {
  const char* name;
  const char* summary;
  const char* footer;  ///< examples
  std::function<std::function<int()>(CommandArguments&)> declare;
};

/// Parses the arguments and runs the command that they choose.
int run_commands(const std::vector<Command>& commands, int argc, char** argv);

}  // namespace einflow
