#include "report/pipeline_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace einflow {
namespace {

using cluster::PipelineShape;
using cluster::Schedule;

// arXiv:2104.04473 figure 4 (above), with 3 devices and 4 microbatches, a backward item as long as a forward one.
TEST(PipelineView, OneForwardOneBackward) {
  EXPECT_EQ(schedule_picture({Schedule::one_f_one_b, 3, 4, 1}, {}).value(),
            "  device 0 F0 F1 F2 .  .  B0 F3 B1 .  B2 .  B3\n"
            "  device 1 .  F0 F1 .  B0 F2 B1 F3 B2 .  B3 .\n"
            "  device 2 .  .  F0 B0 F1 B1 F2 B2 F3 B3 .  .\n"
            "  F forward, B backward, then the microbatch; a dot waits. Each takes a unit of\n"
            "  time here, sends take none.\n"
            "  12 units, 8 of them work of a device: bubble / ideal 1/2 = 50.0 %, bubble /\n"
            "  total 1/3 = 33.3 %.\n"
            "  Activations held at most, by device: 3, 2, 1 (microbatches).\n");
}

TEST(PipelineView, SaysWhatItCutsAndKeepsTheWidth) {
  for (const Schedule schedule :
       {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble}) {
    for (const std::int64_t devices : {1, 4, 40}) {
      const std::int64_t chunks = schedule == Schedule::interleaved ? 3 : 1;
      const auto picture = schedule_picture({schedule, devices, 4 * devices, chunks}, {});
      ASSERT_TRUE(picture);
      std::istringstream lines(*picture);
      std::size_t shown = 0;
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(line.size(), 80U) << line;
        if (line.find("  device ") == 0) ++shown;
      }
      EXPECT_EQ(shown, static_cast<std::size_t>(std::min<std::int64_t>(devices, 16)));
      EXPECT_EQ(picture->find("  ...\n") != std::string::npos, devices > 16);
      EXPECT_EQ(picture->find("units of time)") != std::string::npos, devices > 1 || chunks > 1);
    }
  }
}

TEST(PipelineView, NoScheduleNoPicture) { EXPECT_FALSE(schedule_picture({Schedule::interleaved, 4, 6, 2}, {})); }

}  // namespace
}  // namespace einflow
