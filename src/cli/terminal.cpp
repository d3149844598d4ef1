#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/utf8.hpp"

namespace einflow {

namespace {

bool shows_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return isatty(descriptor) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

}  // namespace

TextStyle output_style() {
  TextStyle style;
  style.colour = shows_colour(STDOUT_FILENO);
  return style;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool all_printed() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  // A reader that leaves early (`| head`) has what it wanted; writing again tells it from a full disk.
  std::clearerr(stdout);
  std::fputc('\n', stdout);
  return std::fflush(stdout) != 0 && errno == EPIPE;
}

void print_message(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  if (text.empty() || text.back() != '\n') std::fputc('\n', stderr);
}

void print_errors(const Diagnostics& errors, const SourceText& source) { print_message(render(errors, source)); }

void print_errors_in(const Diagnostics& errors, const std::vector<SourceText>& sources) {
  print_message(render_in(errors, sources));
}

std::function<void(Count, Count)> progress_bar() {
  if (isatty(STDERR_FILENO) != 1) return {};
  return [last = -1](Count done, Count total) mutable {
    const int share = Count(0) < total ? static_cast<int>(done.to_double() * 100 / total.to_double()) : 100;
    if (share == last) return;
    last = share;
    const std::string bar = std::string(static_cast<std::size_t>(share / 4), '#') +
                            std::string(static_cast<std::size_t>(25 - share / 4), '.');
    const std::string line = fmt::format("\r[{}] {:3} %", bar, share);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  };
}

std::function<void(const std::string&)> progress_line() {
  if (isatty(STDERR_FILENO) != 1) return {};
  using Clock = std::chrono::steady_clock;
  return [last = Clock::time_point::min()](const std::string& text) mutable {
    constexpr std::chrono::milliseconds kPause(200);
    constexpr int kMostColumns = 76;  // with "..." behind it, less than a line
    const Clock::time_point now = Clock::now();
    if (last != Clock::time_point::min() && now - last < kPause) return;
    last = now;
    const std::string line = "\r\033[K" + printable(text, kMostColumns);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  };
}

void clear_progress_bar() {
  if (isatty(STDERR_FILENO) == 1) std::fputs("\r\033[K", stderr);
}

}  // namespace einflow
