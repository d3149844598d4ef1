#include "notation/loops/placing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/loops/stationary_claim.hpp"

namespace einflow::loops {

namespace {

constexpr std::size_t kMaximumErrors = 100;
constexpr std::size_t kMaximumLevels = 64;
constexpr std::size_t kMaximumAxes = 16;
const Count kInstanceLimit = Count(Count::Int{1} << 62);

bool is_name_character(char c) { return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_' || c == '-'; }

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Words of a comment, one after the other, with their places.
class CommentWords {
 public:
  explicit CommentWords(const Comment& comment) : text_(comment.text), span_(comment.span) {}

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char symbol) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != symbol) return false;
    ++at_;
    return true;
  }
  /// Without a blank before it.
  bool take_close(char symbol) {
    if (at_ >= text_.size() || text_[at_] != symbol) return false;
    ++at_;
    return true;
  }
  std::optional<NestWord> name() {
    skip_blanks();
    std::size_t end = at_;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    if (end == at_ || std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-')
      return std::nullopt;
    const NestWord word{std::string(text_.substr(at_, end - at_)),
                        {span_.line, span_.column + code_points(text_.substr(0, at_)), static_cast<int>(end - at_)}};
    at_ = end;
    return word;
  }
  bool at_end() {
    skip_blanks();
    return at_ >= text_.size();
  }
  /// Whether what comes is an aside: "(weight stationary)", "; all of k".
  bool at_aside() {
    skip_blanks();
    return at_ >= text_.size() || text_[at_] == '(' || text_[at_] == ';';
  }

 private:
  std::string_view text_;
  Span span_;
  std::size_t at_ = 0;
};

struct HoldComment {
  NestWord level;
  std::vector<NestWord> tensors;  ///< empty = all of them
  std::size_t offset = 0;
  Span span;
};

class Placing {
 public:
  Placing(const NestText& text, const RankedNest& ranked, const std::optional<Machine>& machine)
      : text_(text), ranked_(ranked), given_(machine) {}

  Result<PlacedNest> place() {
    read_comments();
    if (errors_.empty()) make_lines();
    if (errors_.empty() && !given_) build_machine();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    if (given_) {
      placed_.machine = *given_;
      if (!text_.header.networks.empty()) placed_.conventions.push_back("networks are those of the machine given");
    }
    if (!text_.initialised.empty()) {
      placed_.conventions.push_back(
          fmt::format("{} is set before the sum: that moves no data", text_.initialised.front()));
    }
    return std::move(placed_);
  }

 private:
  void error(const Span& span, std::string message, std::string hint = {}) {
    if (errors_.size() < kMaximumErrors) errors_.push_back({span, std::move(message), std::move(hint), {}});
  }

  std::vector<std::string> tensor_names() const {
    std::vector<std::string> names;
    for (const Tensor& tensor : ranked_.einsum.tensors) names.push_back(tensor.name);
    return names;
  }
  bool is_tensor(const std::string& name) const { return ranked_.einsum.tensor_named(name) >= 0; }

  // ---- comments

  void read_comments() {
    axes_.resize(text_.loops.size());
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      if (text_.loops[i].mesh) axes_[i] = {{*text_.loops[i].mesh, *text_.loops[i].axis}};
    }
    std::size_t next_loop = 0;
    for (const Comment& comment : text_.comments) {
      if (errors_.size() >= kMaximumErrors) return;
      if (comment.alone) {
        read_alone(comment);
        continue;
      }
      while (next_loop < text_.loops.size() && text_.loops[next_loop].last_line < comment.span.line) ++next_loop;
      std::size_t last = next_loop;  // of the loops on this line
      while (last + 1 < text_.loops.size() && text_.loops[last + 1].last_line == comment.span.line) ++last;
      if (last < text_.loops.size() && text_.loops[last].last_line == comment.span.line) {
        read_beside(comment, last);
      } else {
        refuse_hold(comment);
      }
    }
  }

  /// `LEVEL: X W Y`, `level: LEVEL`; or nothing to einflow.
  void read_alone(const Comment& comment) {
    const auto hold = hold_of(comment, true);
    if (!hold) return;
    if (text_.statement && comment.offset > text_.statement_offset) {
      return error(comment.span, "a hold behind the statement", "a tile is held above the loops that work on it");
    }
    holds_.push_back(*hold);
  }

  void refuse_hold(const Comment& comment) {
    const auto hold = hold_of(comment, false);
    if (!hold) return;
    error(comment.span, "a hold on a line with something else; it is a line of its own",
          fmt::format("// {}: ... above the loops that work on the tile", hold->level.text));
  }

  std::optional<HoldComment> hold_of(const Comment& comment, bool complain) {
    CommentWords words(comment);
    auto level = words.name();
    if (!level) return std::nullopt;
    HoldComment hold{*level, {}, comment.offset, comment.span};
    const bool colon = words.take(':');
    if (!colon) {
      if (complain) refuse_broken_hold(comment);
      return std::nullopt;
    }
    if (level->text == "level") {
      const auto named = words.name();
      if (!named) return std::nullopt;
      hold.level = *named;
      if (!words.take(':')) return words.at_aside() ? std::optional(hold) : std::nullopt;
    }
    std::vector<NestWord> unknown;
    bool known = false;
    bool prose = false;
    while (!words.at_aside()) {
      if (words.take(',')) continue;
      const auto tensor = words.name();
      if (!tensor) {
        prose = true;
        break;
      }
      if (tensor->text == "and" && !is_tensor("and")) continue;
      if (is_tensor(tensor->text)) {
        known = true;
        hold.tensors.push_back(*tensor);
      } else {
        unknown.push_back(*tensor);
      }
    }
    if (unknown.empty() && !prose) return known ? std::optional(hold) : std::nullopt;
    const bool like_tensor = std::any_of(unknown.begin(), unknown.end(), [&](const NestWord& word) {
      const auto names = tensor_names();
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return lower_case(name) == lower_case(word.text); });
    });
    const int given = given_ ? given_->level_named(hold.level.text) : -1;
    const bool meant = known || like_tensor || (given >= 0 && given_->storage(given) != nullptr);
    if (!meant || !complain) return std::nullopt;
    const std::string hint = "a comment that holds nothing is written without `NAME:` at its start";
    if (unknown.empty()) {
      error(comment.span,
            fmt::format("{} looks like a hold, but more than tensors stand in it", in_quotes(comment.text)), hint);
      return std::nullopt;
    }
    for (const NestWord& word : unknown) {
      const std::string nearest = like_tensor ? same_letters(word.text) : "";
      error(word.span, fmt::format("unknown tensor {} in {}", in_quotes(word.text), in_quotes(comment.text)),
            nearest.empty() ? name_hint(word.text, tensor_names(), "tensors") + "; " + hint
                            : fmt::format("did you mean {}?", in_quotes(nearest)));
    }
    return std::nullopt;
  }

  /// Two or more words, a colon, and nothing but tensors behind it: a hold whose level's name is none.
  void refuse_broken_hold(const Comment& comment) {
    const std::size_t colon = comment.text.find(':');
    if (colon == std::string_view::npos) return;
    Comment behind = comment;
    behind.text = comment.text.substr(colon + 1);
    CommentWords words(behind);
    bool tensors = false;
    while (!words.at_aside()) {
      if (words.take(',') || words.take(':')) continue;
      const auto tensor = words.name();
      if (!tensor || !is_tensor(tensor->text)) return;
      tensors = true;
    }
    if (!tensors) return;
    error(comment.span, fmt::format("{} looks like a hold, but its level is no name", in_quotes(comment.text)),
          "a level's name is one word of letters, digits, '_' and '-': // Buffer: X W");
  }

  std::string same_letters(const std::string& found) const {
    for (const std::string& name : tensor_names()) {
      if (lower_case(name) == lower_case(found)) return name;
    }
    return {};
  }

  /// `array.x` beside a parallel-for; `W stationary` beside any loop, which is checked.
  void read_beside(const Comment& comment, std::size_t loop) {
    CommentWords words(comment);
    if (text_.loops[loop].kind == WrittenLoop::Kind::atomic && names_compute(words)) return;
    auto mesh = words.name();
    if (mesh && mesh->text == "on") mesh = words.name();
    if (mesh && words.take_close('.')) {
      const auto axis = words.name();
      const bool ends = words.at_aside() || words.take(':') || words.take(',');
      if (axis && ends && text_.loops[loop].kind == WrittenLoop::Kind::spatial) {
        if (axes_[loop] && (axes_[loop]->first.text != mesh->text || axes_[loop]->second.text != axis->text)) {
          return error(comment.span, "the loop's line names another mesh axis than its comment");
        }
        axes_[loop] = {{*mesh, *axis}};
        return;
      }
    }
    refuse_hold(comment);
    const auto claim = wrong_stationary_claim(comment, ranked_, text_, loop);
    if (!claim.empty()) placed_.left_out.push_back(claim);
  }

  /// `one operation of MMA`.
  bool names_compute(CommentWords words) {
    for (const char* const expected : {"one", "operation", "of"}) {
      const auto word = words.name();
      if (!word || word->text != expected) return false;
    }
    const auto name = words.name();
    if (name && words.at_aside()) compute_ = name->text;
    return name.has_value();
  }

  // ---- lines

  NestLine hold_line(const HoldComment& hold) const {
    NestLine line;
    line.kind = NestLine::Kind::at;
    line.span = hold.span;
    line.level = hold.level;
    line.tensors = hold.tensors;
    if (line.tensors.empty()) {
      for (const std::string& name : tensor_names()) line.tensors.push_back({name, hold.level.span});
    }
    return line;
  }

  void make_lines() {
    std::size_t next = 0;
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      const WrittenLoop& loop = text_.loops[i];
      for (; next < holds_.size() && holds_[next].offset < loop.offset; ++next) {
        if (i > 0 && text_.loops[i - 1].kind == WrittenLoop::Kind::atomic) return hold_in_atomic(holds_[next]);
        placed_.lines.push_back(hold_line(holds_[next]));
      }
      if (loop.kind == WrittenLoop::Kind::atomic) continue;
      placed_.lines.push_back(loop_line(i));
    }
    for (; next < holds_.size(); ++next) {
      if (!text_.loops.empty() && text_.loops.back().kind == WrittenLoop::Kind::atomic)
        return hold_in_atomic(holds_[next]);
      placed_.lines.push_back(hold_line(holds_[next]));
    }
    check_atomic_tiles();
  }

  void hold_in_atomic(const HoldComment& hold) {
    error(hold.span, "a hold inside an atomic-for: that is one operation of the compute level",
          "move it above the atomic-for loops");
  }

  /// The loops of one rank may end in one atomic-for, which is the only one.
  void check_atomic_tiles() {
    std::set<int> atomic;
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      if (text_.loops[i].kind != WrittenLoop::Kind::atomic || atomic.insert(ranked_.rank[i]).second) continue;
      error(text_.loops[i].variable_span, "a second atomic-for of the same rank; one covers all that is left");
    }
  }

  NestLine loop_line(std::size_t i) {
    const WrittenLoop& loop = text_.loops[i];
    NestLine line;
    line.span = loop.span;
    line.ranks.push_back({ranked_.einsum.ranks[static_cast<std::size_t>(ranked_.rank[i])].name, loop.variable_span});
    line.number = ranked_.tile[i];
    line.number_span = loop.bound_span;
    if (loop.kind != WrittenLoop::Kind::spatial) return line;
    line.kind = NestLine::Kind::spatial;
    if (axes_[i]) {
      line.mesh = axes_[i]->first;
      line.axis = axes_[i]->second;
    } else {
      name_axis(line, loop);
    }
    return line;
  }

  /// A parallel-for whose axis is not named.
  void name_axis(NestLine& line, const WrittenLoop& loop) {
    if (!given_) {
      line.mesh = {unnamed_mesh(), loop.variable_span};
      line.axis = line.ranks.front();
      return;
    }
    std::vector<std::string> axes;
    for (const Level& level : given_->levels) {
      const auto* mesh = std::get_if<Mesh>(&level);
      if (mesh == nullptr) continue;
      for (const MeshAxis& axis : mesh->axes) {
        axes.push_back(mesh->name + "." + axis.name);
        line.mesh = {mesh->name, loop.variable_span};
        line.axis = {axis.name, loop.variable_span};
      }
    }
    if (axes.size() == 1) {
      placed_.conventions.push_back(
          fmt::format("the parallel loop over {} runs on {}, the machine's only axis", loop.variable, axes.front()));
      return;
    }
    error(loop.variable_span, fmt::format("on which axis of the machine does {} run?", in_quotes(loop.variable)),
          axes.empty() ? "the machine has no mesh" : "name it: // " + axes.front() + "; axes: " + comma_list(axes));
  }

  /// One mesh for all unnamed axes between two holds.
  std::string unnamed_mesh() {
    const bool hold_since =
        std::any_of(placed_.lines.begin() + static_cast<std::ptrdiff_t>(unnamed_from_), placed_.lines.end(),
                    [](const NestLine& line) { return line.kind == NestLine::Kind::at; });
    if (unnamed_.empty() || hold_since) {
      unnamed_ = free_name("array");
      unnamed_from_ = placed_.lines.size();
      taken_.insert(unnamed_);
    }
    return unnamed_;
  }

  /// A name that no level of the text has.
  std::string free_name(const std::string& wanted) const {
    std::set<std::string> names = taken_;
    for (const HoldComment& hold : holds_) names.insert(hold.level.text);
    for (const auto& axis : axes_) {
      if (axis) names.insert(axis->first.text);
    }
    std::string name = wanted;
    for (int number = 2; names.contains(name); ++number) name = fmt::format("{}{}", wanted, number);
    return name;
  }

  // ---- the machine of the text

  void build_machine() {
    Machine& machine = placed_.machine;
    machine.name = "levels of the text";
    const std::vector<NestLine>& lines = placed_.lines;
    std::set<std::string> first;
    if (!lines.empty() && lines[0].kind == NestLine::Kind::at) {
      for (const NestWord& tensor : lines[0].tensors) first.insert(tensor.text);
    }
    const bool outermost = first.size() == ranked_.einsum.tensors.size();
    if (!outermost) {
      Storage storage;
      storage.name = free_name("DRAM");
      taken_.insert(storage.name);
      machine.levels.emplace_back(storage);
      placed_.conventions.push_back(
          fmt::format("every tensor starts in {}, which the text does not name", storage.name));
    }
    Count instances = 1;
    std::size_t loop = 0;
    for (const NestLine& line : lines) {
      if (line.kind == NestLine::Kind::at) {
        add_storage(line.level);
        continue;
      }
      const std::int64_t trips = ranked_.trips[loop++];
      if (line.kind == NestLine::Kind::spatial) {
        instances *= trips;
        add_axis(line, trips);
      }
    }
    if (instances.overflowed() || instances >= kInstanceLimit) {
      error(lines.front().span, "the parallel loops have 2^62 trips or more");
    }
    if (machine.levels.size() > kMaximumLevels) error(lines.front().span, "more than 64 levels");
    Compute compute;
    compute.name = free_name(compute_);
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      if (text_.loops[i].kind != WrittenLoop::Kind::atomic || ranked_.trips[i] == 1) continue;
      compute.atomic.emplace_back(ranked_.einsum.ranks[static_cast<std::size_t>(ranked_.rank[i])].name,
                                  ranked_.trips[i]);
    }
    // Three extents m, n and k would be roles (mapping/atomic.hpp); these are ranks.
    if (compute.atomic.size() == 3) compute.atomic.emplace_back(free_rank(), 1);
    compute.operand_latches = text_.header.latches.value_or(false);
    machine.levels.emplace_back(compute);
    placed_.conventions.push_back(
        text_.header.networks.empty()
            ? "the machine is the text's levels; its meshes multicast and reduce"
            : "the machine is the text's levels; meshes not under `networks` multicast and reduce");
    apply_networks();
  }

  void apply_networks() {
    Machine& machine = placed_.machine;
    for (const WrittenNetwork& network : text_.header.networks) {
      const int level = machine.level_named(network.mesh.text);
      if (level < 0 || machine.mesh(level) == nullptr) {
        std::vector<std::string> names;
        for (int known = 0; known < machine.compute_level(); ++known) {
          if (machine.mesh(known) != nullptr) names.push_back(machine.level_name(known));
        }
        error(network.mesh.span, fmt::format("the nest has no mesh {}", in_quotes(network.mesh.text)),
              name_hint(network.mesh.text, names, "meshes"));
        continue;
      }
      Mesh& mesh = std::get<Mesh>(machine.levels[static_cast<std::size_t>(level)]);
      mesh.multicast = network.multicast;
      mesh.reduction = network.reduction;
      mesh.forwarding = network.forwarding;
    }
  }

  std::string free_rank() const {
    std::string name = "one";
    while (ranked_.einsum.rank_named(name) >= 0) name += "_";
    return name;
  }

  void add_storage(const NestWord& name) {
    Machine& machine = placed_.machine;
    const int known = machine.level_named(name.text);
    if (known >= 0 && machine.storage(known) == nullptr) {
      return error(name.span, fmt::format("{} is a mesh and holds nothing", in_quotes(name.text)));
    }
    if (known >= 0 || machine.levels.size() > kMaximumLevels) return;
    Storage storage;
    storage.name = name.text;
    machine.levels.emplace_back(storage);
  }

  void add_axis(const NestLine& line, std::int64_t trips) {
    Machine& machine = placed_.machine;
    int level = machine.level_named(line.mesh.text);
    if (level >= 0 && machine.mesh(level) == nullptr) {
      return error(line.mesh.span, fmt::format("{} is a storage, not a mesh", in_quotes(line.mesh.text)));
    }
    if (level < 0) {
      if (machine.levels.size() > kMaximumLevels) return;
      Mesh mesh;
      mesh.name = line.mesh.text;
      mesh.multicast = true;
      mesh.reduction = true;
      level = static_cast<int>(machine.levels.size());
      machine.levels.emplace_back(mesh);
    }
    Mesh& mesh = std::get<Mesh>(machine.levels[static_cast<std::size_t>(level)]);
    const auto named = [&](const MeshAxis& axis) { return axis.name == line.axis.text; };
    const auto axis = std::find_if(mesh.axes.begin(), mesh.axes.end(), named);
    if (axis != mesh.axes.end()) {
      const auto size = (Count(axis->size) * Count(trips)).to_int64();
      axis->size = size.value_or(axis->size);  // too many are told as too many instances
    } else if (mesh.axes.size() == kMaximumAxes) {
      error(line.axis.span, fmt::format("more than {} axes in the mesh {}", kMaximumAxes, in_quotes(mesh.name)));
    } else {
      mesh.axes.push_back({line.axis.text, trips});
    }
  }

  const NestText& text_;
  const RankedNest& ranked_;
  const std::optional<Machine>& given_;
  std::vector<HoldComment> holds_;
  std::vector<std::optional<std::pair<NestWord, NestWord>>> axes_;  ///< of each loop: mesh and axis
  std::set<std::string> taken_;
  std::string compute_ = "MAC";
  std::string unnamed_;
  std::size_t unnamed_from_ = 0;
  PlacedNest placed_;
  Diagnostics errors_;
};

}  // namespace

Result<PlacedNest> place_nest(const NestText& text, const RankedNest& ranked, const std::optional<Machine>& machine) {
  return Placing(text, ranked, machine).place();
}

}  // namespace einflow::loops
