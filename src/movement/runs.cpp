#include "movement/runs.hpp"

#include <algorithm>

namespace einflow {

void join_runs(Runs& runs) {
  if (runs.size() < 2) return;
  std::sort(runs.begin(), runs.end(), [](Interval a, Interval b) { return a.begin < b.begin; });
  std::size_t last = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].begin <= runs[last].end) {
      runs[last].end = std::max(runs[last].end, runs[i].end);
    } else {
      runs[++last] = runs[i];
    }
  }
  runs.resize(last + 1);
}

std::int64_t measure(const Runs& runs) {
  std::int64_t total = 0;
  for (const Interval& run : runs) total += run.end - run.begin;
  return total;
}

std::int64_t measure_common(const Runs& a, const Runs& b) {
  std::int64_t total = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const std::int64_t begin = std::max(a[i].begin, b[k].begin);
    const std::int64_t end = std::min(a[i].end, b[k].end);
    if (begin < end) total += end - begin;
    if (a[i].end < b[k].end) {
      ++i;
    } else {
      ++k;
    }
  }
  return total;
}

void append_difference(const Runs& a, const Runs& b, Runs& out) {
  std::size_t k = 0;
  for (Interval run : a) {
    while (k < b.size() && b[k].end <= run.begin) ++k;
    for (std::size_t i = k; i < b.size() && b[i].begin < run.end; ++i) {
      if (run.begin < b[i].begin) out.push_back({run.begin, b[i].begin});
      run.begin = std::max(run.begin, b[i].end);
    }
    if (run.begin < run.end) out.push_back(run);
  }
}

void clip(Runs& runs, Interval window) {
  std::size_t kept = 0;
  for (Interval run : runs) {
    run.begin = std::max(run.begin, window.begin);
    run.end = std::min(run.end, window.end);
    if (run.begin < run.end) runs[kept++] = run;
  }
  runs.resize(kept);
}

bool sum_of_progressions(const Progression* progressions, std::size_t count, std::size_t most_runs, Runs& out) {
  out.clear();
  out.push_back({0, 1});
  for (std::size_t k = 0; k < count; ++k) {
    const Progression& p = progressions[k];
    const std::int64_t shift = p.coefficient * p.begin;
    for (Interval& run : out) {
      run.begin += shift;
      run.end += shift;
    }
    if (p.length == 1) continue;
    if (out.size() == 1 && out[0].end - out[0].begin >= p.coefficient) {
      out[0].end += p.coefficient * (p.length - 1);
      continue;
    }
    // `done` terms of the progression so far; joining the set with itself, moved, doubles them.
    for (std::int64_t done = 1; done < p.length;) {
      const std::int64_t next = std::min(done, p.length - done);
      const std::size_t runs = out.size();
      if (2 * runs > most_runs) return false;
      for (std::size_t i = 0; i < runs; ++i) {
        out.push_back({out[i].begin + next * p.coefficient, out[i].end + next * p.coefficient});
      }
      join_runs(out);
      done += next;
    }
  }
  return true;
}

}  // namespace einflow
