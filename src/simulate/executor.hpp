// Moves the data: at every change of step outputs leave from the innermost hold outwards, inputs arrive from the
// outermost hold inwards, then the step's operations are done (docs/law.md section 4).
#pragma once

#include <string>
#include <vector>

#include "simulate/arithmetic.hpp"
#include "simulate/elements.hpp"
#include "simulate/pipeline.hpp"
#include "simulate/residence.hpp"
#include "simulate/simulate.hpp"
#include "simulate/tally.hpp"
#include "simulate/walk.hpp"

namespace einflow::execution {

class Executor {
 public:
  Executor(const Spec& spec, const SimulateOptions& options);
  Simulation run();

 private:
  /// A sibling that wants an element, or is done with it.
  struct Claim {
    std::int64_t group = 0;
    Element element = 0;
    std::int64_t parent = 0;  ///< coordinate
    Value value = 0;
    std::int64_t coordinate = 0;
    bool same_transfer(const Claim& o) const { return group == o.group && element == o.element; }
    bool operator<(const Claim& o) const { return group != o.group ? group < o.group : element < o.element; }
  };

  void enter(int depth, const Active& active);
  void change_step();
  void operate(const Active& active);
  void forget();
  void finish();

  void start(Residence& outermost);
  void arrive(Residence& residence, Residence& parent);
  void leave(Residence& residence, Residence& parent);
  void update(Residence& residence, Residence& parent, const Claim& claim);
  void compare_result();

  std::vector<Residence>& holds_of(int tensor) { return residences_[static_cast<std::size_t>(tensor)]; }
  std::string place(const Residence& residence, Element element) const;
  void mismatch(const std::string& text);

  const Spec& spec_;
  const SimulateOptions& options_;
  Arithmetic arithmetic_;
  std::vector<Elements> elements_;                  ///< by tensor
  std::vector<std::vector<Residence>> residences_;  ///< by tensor and hold
  Pipeline pipeline_;
  Tally tally_;
  Simulation result_;
  int outermost_change_ = -1;  ///< depth of the outermost change of step since the last step; -1 = none yet

  std::vector<Claim> claims_;            ///< scratch
  std::vector<Tally::Crossed> crossed_;  ///< scratch
  std::vector<Claim> siblings_;          ///< scratch: what siblings held in the step before
  Buffer renewed_;                       ///< scratch
  std::vector<std::int64_t> point_;
  std::vector<Value> operands_;
  Count next_progress_;
};

}  // namespace einflow::execution
