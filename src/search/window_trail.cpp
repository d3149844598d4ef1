#include "search/window_trail.hpp"

#include <algorithm>

namespace einflow {

namespace {

void add_lacking(WindowHold& hold, int mesh, std::int64_t trips) {
  for (auto& [known, product] : hold.lacking) {
    if (known != mesh) continue;
    product *= trips;
    return;
  }
  hold.lacking.emplace_back(mesh, trips);
  std::sort(hold.lacking.begin(), hold.lacking.end());
}

// Par lines with no temporal loop between them are alike in any order; two of one rank and mesh are one.
void add_par(WindowHold& hold, const TrailPar& par) {
  const std::size_t fixed = hold.turns.empty() ? 0 : static_cast<std::size_t>(hold.turns.back().pars);
  std::size_t at = hold.pars.size();
  while (at > fixed && hold.pars[at - 1].mesh == par.mesh && hold.pars[at - 1].rank >= par.rank) {
    --at;
    TrailPar& known = hold.pars[at];
    if (known.rank == par.rank && known.stride * known.factor == par.stride) {
      known.factor *= par.factor;
      return;
    }
  }
  hold.pars.insert(hold.pars.begin() + static_cast<std::ptrdiff_t>(at), par);
}

}  // namespace

std::uint32_t WindowTrails::number_of(WindowTrail trail) {
  if (trail.holds.empty()) return 0;
  const auto found = numbers_.find(trail);
  if (found != numbers_.end()) return found->second;
  std::uint32_t kind = 0;
  if (!trail.holds.back().turns.empty() || trail.holds.back().weight != 1) {
    WindowTrail plain = trail;
    plain.holds.back().turns.clear();
    plain.holds.back().weight = 1;
    kind = number_of(std::move(plain));
  }
  std::uint32_t newest = 0;
  if (trail.holds.size() > 1) newest = number_of({{trail.holds.back()}});
  const auto number = static_cast<std::uint32_t>(trails_.size());
  trails_.push_back(trail);
  newest_.push_back(newest == 0 ? number : newest);
  kind_.push_back(kind == 0 ? number : kind);
  numbers_.emplace(std::move(trail), number);
  return number;
}

std::uint32_t WindowTrails::placed(std::uint32_t trail, int tensor, int place, int parent, int shape) {
  WindowTrail extended = trails_[trail];
  // Where the older hold's tile has been moved on, its parent has all that it needs to know.
  std::erase_if(extended.holds, [](const WindowHold& hold) { return !hold.open; });
  for (WindowHold& hold : extended.holds) hold.turns.clear();
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(tensor)];
  WindowHold hold;
  hold.tensor = tensor;
  hold.place = place;
  hold.parent = parent;
  hold.reached.assign(static_cast<std::size_t>(model_.shapes.ranks()), 0);
  for (const GroupReuse& group : t.groups) {
    hold.tiles.push_back(group.plain() ? 0 : group.tile_number(shape));
    if (group.plain()) continue;
    for (const Term& term : group.group().terms) {
      hold.reached[static_cast<std::size_t>(term.rank)] = model_.shapes.index(shape, term.rank);
    }
  }
  extended.holds.push_back(std::move(hold));
  return number_of(std::move(extended));
}

// Elements that stay at the changes of a temporal loop that cuts `rank` (or one that the tensor lacks, -1) into
// `factor` tiles, per position of the lacking ranks outside it. Inside it stand the par lines before number `pars` and
// temporal loops up to the shape `reached`; par lines further out may join siblings too.
double WindowTrails::kept(const WindowHold& hold, const std::vector<int>& reached, int pars, int rank,
                          std::int64_t factor, bool alone, int beyond, bool forwarded, bool padded) const {
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(hold.tensor)];
  const auto unites = [&](int mesh) {
    return !alone && mesh >= 0 && mesh > beyond && model_.shares(mesh, hold.tensor);
  };
  double stays = rank < 0 ? static_cast<double>(factor - 1) : 1;
  for (const auto& [mesh, count] : hold.lacking) {
    if (!unites(mesh)) stays *= static_cast<double>(count);
  }
  for (std::size_t g = 0; g < t.groups.size() && stays > 0; ++g) {
    const GroupReuse& group = t.groups[g];
    if (group.plain()) {
      stays *= static_cast<double>(group.touched());
      continue;
    }
    std::vector<GroupLoop> inside, united;
    std::optional<GroupLoop> own;
    for (int k = 0; k < static_cast<int>(group.group().terms.size()); ++k) {
      const int of = group.group().terms[static_cast<std::size_t>(k)].rank;
      const auto& tiles = model_.shapes.divisors_of(of);
      std::int64_t at = group.tile_length(hold.tiles[g], k);
      const std::int64_t end = tiles[static_cast<std::size_t>(reached[static_cast<std::size_t>(of)])];
      for (std::size_t p = 0; p < hold.pars.size(); ++p) {
        const TrailPar& par = hold.pars[p];
        if (par.rank != of) continue;
        if (unites(par.mesh)) united.push_back({k, par.stride, par.factor});
        if (static_cast<int>(p) >= pars) continue;
        if (par.stride > at) inside.push_back({k, at, par.stride / at});
        at = par.stride * par.factor;
      }
      if (end > at) inside.push_back({k, at, end / at});
      if (of == rank) own = GroupLoop{k, end, factor};
    }
    const Together together = alone ? Together::alone : forwarded ? Together::forwarded : Together::joined;
    stays *= group.kept(hold.tiles[g], inside, own, together, united, padded);
  }
  return stays;
}

double WindowTrails::present(const WindowHold& hold) const {
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(hold.tensor)];
  double all = 1;
  for (const auto& [mesh, count] : hold.lacking) {
    if (mesh < 0 || !model_.shares(mesh, hold.tensor)) all *= static_cast<double>(count);
  }
  for (std::size_t g = 0; g < t.groups.size(); ++g) {
    const GroupReuse& group = t.groups[g];
    if (group.plain()) {
      all *= static_cast<double>(group.touched());
      continue;
    }
    std::vector<GroupLoop> united;
    for (const TrailPar& par : hold.pars) {
      const int term = group.term_of(par.rank);
      if (term >= 0 && par.mesh >= 0 && model_.shares(par.mesh, hold.tensor)) {
        united.push_back({term, par.stride, par.factor});
      }
    }
    all *= group.present(hold.tiles[g], united);
  }
  return all;
}

bool WindowTrails::untouched(const WindowHold& hold) const {
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(hold.tensor)];
  for (std::size_t g = 0; g < t.groups.size(); ++g) {
    const GroupReuse& group = t.groups[g];
    if (group.plain()) continue;
    for (int k = 0; k < static_cast<int>(group.group().terms.size()); ++k) {
      const int rank = group.group().terms[static_cast<std::size_t>(k)].rank;
      std::int64_t at = group.tile_length(hold.tiles[g], k);
      for (const TrailPar& par : hold.pars) {
        if (par.rank == rank) at *= par.factor;
      }
      const int reached = hold.reached[static_cast<std::size_t>(rank)];
      if (model_.shapes.divisors_of(rank)[static_cast<std::size_t>(reached)] != at) return false;
    }
  }
  return true;
}

double WindowTrails::relative(const WindowHold& hold) const {
  double given = present(hold);
  for (const TrailTurn& turn : hold.turns) {
    // Whether siblings hand on is known when all meshes have been passed; until then they may.
    given -= turn.weight * kept(hold, turn.reached, turn.pars, turn.rank, turn.factor, false, -1, hold.divided != 2);
  }
  return given;
}

double WindowTrails::relative_of(std::uint32_t trail) {
  if (relative_.size() <= trail) relative_.resize(trails_.size(), -1);
  if (relative_[trail] < 0) relative_[trail] = relative(trails_[trail].holds.back());
  return relative_[trail];
}

TrailSaving WindowTrails::compute_turn(std::uint32_t number, int tensor, int rank, int inner, int outer, int stage,
                                       bool ahead) {
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(tensor)];
  const int g = t.group_of[static_cast<std::size_t>(rank)];
  TrailSaving saving;
  WindowTrail trail = trails_[number];
  if (g >= 0 && t.groups[static_cast<std::size_t>(g)].plain()) {  // everything moves, from here on
    WindowHold newest = std::move(trail.holds.back());
    newest.open = false;
    newest.reached.assign(newest.reached.size(), 0);
    newest.weight = 1;
    trail.holds.clear();
    if (ahead) trail.holds.push_back(std::move(newest));
    saving.next = number_of(std::move(trail));
    return saving;
  }
  const std::int64_t factor = model_.shapes.tile(outer, rank) / model_.shapes.tile(inner, rank);
  const int own = g < 0 ? -1 : rank;
  for (std::size_t h = 0; h < trail.holds.size(); ++h) {
    WindowHold& hold = trail.holds[h];
    const bool newest = h + 1 == trail.holds.size();
    const int pars = static_cast<int>(hold.pars.size());
    const auto stays = [&](bool alone, int beyond, bool forwarded) {
      return kept(hold, hold.reached, pars, own, factor, alone, beyond, forwarded);
    };
    const double alone = stays(true, -1, false);
    const double joined = stays(false, -1, false);
    double given = joined, forwarded = 0;
    if (hold.divided == 1 && hold.place != model_.compute_place()) {
      given = stays(false, -1, true);
      if (newest && ahead) {
        saving.inexact = saving.inexact || given != joined;
      } else {
        forwarded = given - joined;
      }
    }
    for (int f = 0; f < model_.figure_count(); ++f) {
      double& saved = saving.figures[static_cast<std::size_t>(f)];
      saved +=
          alone * model_.own_cost(f, tensor, hold.place, 0) - forwarded * model_.forward_cost(f, tensor, hold.place);
      if (!newest) saved += given * model_.parent_cost(f, tensor, hold.parent, 0);
    }
    for (int place = (newest ? stage : hold.parent) + 1; place <= hold.place; ++place) {
      for (const int mesh : model_.meshes[static_cast<std::size_t>(place)]) {
        double crossing = -1;
        for (int f = 0; f < model_.figure_count(); ++f) {
          const double hop = model_.hop_cost(f, tensor, mesh);
          if (hop == 0) continue;
          if (crossing < 0) crossing = stays(false, mesh, false);
          saving.figures[static_cast<std::size_t>(f)] += crossing * hop;
        }
      }
    }
    if (newest) saving.joined = given;
    if (newest && ahead) {
      const bool whole = own < 0 && hold.turns.empty() && alone > 0 && untouched(hold);
      const auto trips = static_cast<double>(factor);
      if (alone > 0 && !whole) {
        hold.turns.push_back({hold.reached, pars, own, factor, own < 0 ? hold.weight / trips : hold.weight});
      }
      if (own < 0 && !whole) hold.weight /= trips;
    }
    if (own >= 0) hold.reached[static_cast<std::size_t>(rank)] = model_.shapes.index(outer, rank);
  }
  saving.next = number_of(std::move(trail));
  saving.open = true;
  return saving;
}

const TrailSaving& WindowTrails::turned(std::uint32_t trail, int tensor, int rank, int inner, int outer, int stage,
                                        bool ahead) {
  const Move move{trail, rank, model_.shapes.index(inner, rank), model_.shapes.index(outer, rank),
                  stage * 2 + (ahead ? 1 : 0)};
  const auto found = turns_.find(move);
  if (found != turns_.end()) return found->second;
  return turns_.emplace(move, compute_turn(trail, tensor, rank, inner, outer, stage, ahead)).first->second;
}

const TrailSplit& WindowTrails::split(std::uint32_t number, int tensor, int rank, int inner, int outer, int mesh) {
  const Move move{number, rank, model_.shapes.index(inner, rank), model_.shapes.index(outer, rank), mesh};
  const auto found = splits_.find(move);
  if (found != splits_.end()) return found->second;
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(tensor)];
  const Mesh& network = *model_.machine.mesh(mesh);
  const std::int64_t stride = model_.shapes.tile(inner, rank);
  const std::int64_t factor = model_.shapes.tile(outer, rank) / stride;
  const int g = t.group_of[static_cast<std::size_t>(rank)];
  WindowTrail trail = trails_[number];
  TrailSplit split;
  const double before = relative_of(number);
  for (std::size_t h = 0; h < trail.holds.size(); ++h) {
    WindowHold& hold = trail.holds[h];
    const bool newest = h + 1 == trail.holds.size();
    // Siblings of an older hold further out than its parent are apart.
    const int at = newest ? mesh : -1;
    if (newest) hold.divided = std::max(hold.divided, network.forwarding && network.multicast ? 1 : 2);
    if (g < 0) {
      add_lacking(hold, at, factor);
    } else if (!t.groups[static_cast<std::size_t>(g)].plain()) {
      add_par(hold, {rank, at, stride, factor});
      if (hold.open) hold.reached[static_cast<std::size_t>(rank)] = model_.shapes.index(outer, rank);
    }
  }
  if (g < 0) {
    split.ratio = model_.shares(mesh, tensor) ? 1 / static_cast<double>(factor) : 1;
  } else if (model_.shares(mesh, tensor) && before > 0) {
    split.ratio = relative(trail.holds.back()) / before;
  }
  split.inexact = trail.holds.back().divided == 1 && !trail.holds.back().turns.empty();
  split.next = number_of(std::move(trail));
  return splits_.emplace(move, split).first->second;
}

const WindowTrails::Least& WindowTrails::least(std::uint32_t trail) {
  if (least_.size() < trails_.size()) least_.resize(trails_.size());
  Least& known = least_[trail];
  if (known.known) return known;
  known.known = true;
  const WindowHold& hold = trails_[trail].holds.back();
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(hold.tensor)];
  known.untouched = untouched(hold);
  // Each change of step still to come leaves in place at most what the next loop over a window does, for loops further
  // out move it further; and there are as many as positions outside.
  // Where two ranks of a window are still to be cut, the one may undo the move of the other: nothing is known.
  WindowHold bare = hold;
  bare.turns.clear();
  const double joined_all = present(bare);
  WindowHold apart = bare;
  for (TrailPar& par : apart.pars) par.mesh = -1;
  for (auto& lacking : apart.lacking) lacking.first = -1;
  const double alone_all = present(apart);
  const bool forwarded = hold.divided != 2 && hold.place != model_.compute_place();
  const int pars = static_cast<int>(hold.pars.size());
  double most_joined = 0, most_alone = 0;
  const auto consider = [&](int rank, std::int64_t trips) {
    const double of = rank < 0 ? 1 : static_cast<double>(trips) / static_cast<double>(trips - 1);
    most_joined = std::max(most_joined, of * kept(hold, hold.reached, pars, rank, trips, false, -1, forwarded, false));
    most_alone = std::max(most_alone, of * kept(hold, hold.reached, pars, rank, trips, true, -1, false, false));
  };
  if (!known.untouched) consider(-1, 2);
  for (const GroupReuse& group : t.groups) {
    if (group.plain()) continue;
    int open_ranks = 0;
    for (const Term& term : group.group().terms) {
      const int reached = hold.reached[static_cast<std::size_t>(term.rank)];
      const auto& tiles = model_.shapes.divisors_of(term.rank);
      if (reached + 1 == static_cast<int>(tiles.size())) continue;
      if (++open_ranks > 1) return known;
      consider(term.rank, tiles.back() / tiles[static_cast<std::size_t>(reached)]);
    }
  }
  known.bounded = true;
  known.most_joined = most_joined;
  known.share = std::clamp(1 - std::max(most_joined / joined_all, most_alone / alone_all), 0.0, 1.0);
  return known;
}

double WindowTrails::most_more(std::uint32_t a, double given_a, std::uint32_t b, double given_b) {
  if (a == b) return std::max(0.0, given_a - given_b);
  const std::vector<TrailTurn>& turns_a = trails_[a].holds.back().turns;
  const std::vector<TrailTurn>& turns_b = trails_[b].holds.back().turns;
  const double relative_a = relative_of(a), relative_b = relative_of(b);
  if (relative_a <= 0 || relative_b <= 0) return given_a;
  // given = scale x (present - what the turns keep); each keeps anything between nothing and all that is present.
  const double scale_a = given_a / relative_a, scale_b = given_b / relative_b;
  double more = scale_a - scale_b;
  const auto weight_in = [](const std::vector<TrailTurn>& turns, const TrailTurn& wanted) {
    double weight = 0;
    for (const TrailTurn& turn : turns) {
      if (turn.rank == wanted.rank && turn.factor == wanted.factor && turn.pars == wanted.pars &&
          turn.reached == wanted.reached) {
        weight += turn.weight;
      }
    }
    return weight;
  };
  for (const TrailTurn& turn : turns_b) {
    more += std::max(0.0, scale_b * turn.weight - scale_a * weight_in(turns_a, turn));
  }
  return std::max({0.0, more * present(trails_[a].holds.back()), given_a - given_b});
}

}  // namespace einflow
