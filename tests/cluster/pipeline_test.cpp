// Schedules of pipelines: the lists, their execution, and the closed forms beside it.
#include "cluster/pipeline.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <tuple>

#include "cluster/pipeline_formula.hpp"

namespace einflow::cluster {
namespace {

using Stage = StageTimes<std::int64_t>;
using Stages = std::vector<Stage>;

constexpr Schedule kAll[] = {Schedule::gpipe, Schedule::one_f_one_b, Schedule::interleaved, Schedule::zero_bubble};

Stages equal_stages(const PipelineShape& shape, const Stage& stage) {
  return Stages(static_cast<std::size_t>(shape.devices * shape.chunks), stage);
}

std::string line_of(const std::vector<WorkItem>& list, bool chunks) {
  std::string line;
  for (const WorkItem& item : list) {
    const char* const kind = item.kind == WorkKind::forward ? "F" : item.kind == WorkKind::backward ? "B" : "W";
    line += fmt::format("{}{}{}{}", line.empty() ? "" : " ", kind, item.microbatch,
                        chunks ? std::string(1, static_cast<char>('a' + item.chunk)) : "");
  }
  return line;
}

std::vector<std::string> lines_of(const PipelineShape& shape) {
  const auto lists = work_lists(shape);
  std::vector<std::string> lines;
  if (!lists) return lines;
  for (const auto& list : *lists) lines.push_back(line_of(list, shape.chunks > 1));
  return lines;
}

// arXiv:2104.04473 figure 3 (GPipe) and figure 4 above (PipeDream-flush), with fewer microbatches.
TEST(Pipeline, ListsOfGPipeAnd1F1B) {
  EXPECT_EQ(lines_of({Schedule::gpipe, 2, 3, 1}), (std::vector<std::string>{"F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2"}));
  EXPECT_EQ(
      lines_of({Schedule::one_f_one_b, 3, 4, 1}),
      (std::vector<std::string>{"F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"}));
}

// Megatron-LM at 00611e6, schedules.py: (p - k - 1) 2 + (v - 1) p items before the first backward one, groups of p
// microbatches, chunk after chunk (get_schedule_table), the chunks backward in the opposite order.
TEST(Pipeline, ListsOfInterleaved) {
  EXPECT_EQ(lines_of({Schedule::interleaved, 2, 4, 2}),
            (std::vector<std::string>{"F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a",
                                      "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"}));
}

// arXiv:2401.10241 figure 2: weight gradients of a later device start later, and fill what it would wait at the end.
TEST(Pipeline, ListsOfZeroBubble) {
  EXPECT_EQ(lines_of({Schedule::zero_bubble, 3, 4, 1}),
            (std::vector<std::string>{"F0 F1 F2 B0 W0 F3 B1 W1 B2 W2 B3 W3", "F0 F1 B0 F2 B1 W0 F3 B2 W1 B3 W2 W3",
                                      "F0 B0 F1 B1 F2 B2 W0 F3 B3 W1 W2 W3"}));
}

TEST(Pipeline, EveryItemOnceAndInOrderOfItsDevice) {
  for (const Schedule schedule : kAll) {
    for (std::int64_t devices = 1; devices <= 5; ++devices) {
      for (std::int64_t microbatches = 1; microbatches <= 11; ++microbatches) {
        for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
          const PipelineShape shape{schedule, devices, microbatches, chunks};
          const auto lists = work_lists(shape);
          const bool possible = chunks == 1 || (schedule == Schedule::interleaved && microbatches % devices == 0);
          ASSERT_EQ(lists.has_value(), possible);
          if (!possible) continue;
          const std::size_t kinds = schedule == Schedule::zero_bubble ? 3 : 2;
          for (const auto& list : *lists) {
            ASSERT_EQ(list.size(), kinds * static_cast<std::size_t>(microbatches * chunks));
            std::set<std::tuple<int, std::int64_t, std::int64_t>> seen;
            for (const WorkItem& item : list) {
              ASSERT_TRUE(seen.insert({static_cast<int>(item.kind), item.chunk, item.microbatch}).second);
              if (item.kind == WorkKind::forward) continue;
              ASSERT_TRUE(seen.count({static_cast<int>(item.kind) - 1, item.chunk, item.microbatch}));
            }
          }
        }
      }
    }
  }
}

TEST(Pipeline, ErrorsNameTheNumbers) {
  EXPECT_FALSE(work_lists({Schedule::gpipe, 0, 4, 1}));
  EXPECT_FALSE(work_lists({Schedule::gpipe, 4, 0, 1}));
  const auto chunks = work_lists({Schedule::one_f_one_b, 4, 8, 2});
  ASSERT_FALSE(chunks);
  EXPECT_EQ(chunks.error().front().message, "2 chunks a device need the interleaved schedule, not 1f1b");
  const auto groups = work_lists({Schedule::interleaved, 4, 6, 2});
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().front().message,
            "the interleaved schedule takes microbatches in groups of 4 stages: 6 is no multiple");
  EXPECT_FALSE(work_lists({Schedule::gpipe, 1 << 20, 1 << 20, 1}));
  EXPECT_FALSE(check(PipelineShape{Schedule::gpipe, INT64_MAX, INT64_MAX, 1}));
  const auto stages = run_pipeline<std::int64_t>({Schedule::gpipe, 4, 8, 1}, Stages(3), 0);
  ASSERT_FALSE(stages);
  EXPECT_EQ(stages.error().front().message, "a pipeline of 4 devices with 1 chunks has 4 stages, not 3");
  EXPECT_FALSE(parse_schedule("zero-buble"));
  for (const Schedule schedule : kAll) EXPECT_EQ(parse_schedule(to_text(schedule)).value(), schedule);
}

/// Clockwork: in each unit of time every device that is free looks whether its next item can begin. Times of 1 or more.
std::int64_t total_by_clock(const std::vector<std::vector<WorkItem>>& lists, const PipelineShape& shape,
                            const Stages& stages, std::int64_t transfer) {
  const std::int64_t last = shape.devices * shape.chunks - 1;
  std::map<std::tuple<WorkKind, std::int64_t, std::int64_t>, std::int64_t> ended;  // kind, stage, microbatch
  std::vector<std::size_t> next(lists.size(), 0);
  std::vector<std::int64_t> busy_until(lists.size(), 0);
  const auto arrived = [&](WorkKind kind, std::int64_t stage, std::int64_t microbatch, std::int64_t delay,
                           std::int64_t now) {
    const auto found = ended.find({kind, stage, microbatch});
    return found != ended.end() && found->second + delay <= now;
  };
  std::int64_t total = 0;
  for (std::int64_t now = 0;; ++now) {
    bool left = false;
    for (std::size_t device = 0; device < lists.size(); ++device) {
      if (next[device] == lists[device].size()) continue;
      left = true;
      if (busy_until[device] > now) continue;
      const WorkItem& item = lists[device][next[device]];
      const std::int64_t stage = item.chunk * shape.devices + static_cast<std::int64_t>(device);
      const Stage& times = stages[static_cast<std::size_t>(stage)];
      bool ready = true;
      std::int64_t length = times.forward;
      if (item.kind == WorkKind::forward && stage > 0) {
        ready = arrived(WorkKind::forward, stage - 1, item.microbatch, transfer, now);
      } else if (item.kind == WorkKind::backward) {
        length = times.backward;
        ready = stage == last ? arrived(WorkKind::forward, stage, item.microbatch, 0, now)
                              : arrived(WorkKind::backward, stage + 1, item.microbatch, transfer, now);
      } else if (item.kind == WorkKind::weight) {
        length = times.weight;
        ready = arrived(WorkKind::backward, stage, item.microbatch, 0, now);
      }
      if (!ready) continue;
      ended[{item.kind, stage, item.microbatch}] = busy_until[device] = now + length;
      ++next[device];
      total = std::max(total, now + length);
    }
    if (!left) return total;
  }
}

struct RandomPipeline {
  PipelineShape shape;
  Stages stages;
  std::int64_t transfer = 0;
};

/// A third each: equal stages, more in the first and the last (embedding, logits), all different.
RandomPipeline random_pipeline(std::mt19937_64& random, Schedule schedule, std::int64_t least) {
  const auto number = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  RandomPipeline pipeline;
  pipeline.shape = {schedule, number(1, 6), number(1, 16), 1};
  if (schedule == Schedule::interleaved) {
    pipeline.shape.chunks = number(1, 4);
    pipeline.shape.microbatches = pipeline.shape.devices * number(1, 4);
  }
  const auto stage = [&] { return Stage{number(least, 9), number(least, 9), number(least, 9)}; };
  pipeline.stages = equal_stages(pipeline.shape, stage());
  const std::int64_t way = number(0, 2);
  if (way == 1) {
    for (Stage* end : {&pipeline.stages.front(), &pipeline.stages.back()}) {
      end->forward += number(0, 9);
      end->backward += number(0, 9);
    }
  }
  if (way == 2) {
    for (Stage& each : pipeline.stages) each = stage();
  }
  pipeline.transfer = number(0, 1) * number(0, 9);
  if (pipeline.shape.devices == 1) pipeline.transfer = 0;
  return pipeline;
}

TEST(Pipeline, ExecutionTakesAsLongAsByTheClock) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    for (const Schedule schedule : kAll) {
      const RandomPipeline pipeline = random_pipeline(random, schedule, 1);
      const auto run = run_pipeline<std::int64_t>(pipeline.shape, pipeline.stages, pipeline.transfer);
      ASSERT_TRUE(run) << run.error().front().message;
      const auto lists = work_lists(pipeline.shape);
      ASSERT_EQ(run->total, total_by_clock(*lists, pipeline.shape, pipeline.stages, pipeline.transfer));
    }
  }
}

TEST(Pipeline, TotalWithoutListsIsThatOfTheLists) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    for (const Schedule schedule : kAll) {
      const RandomPipeline pipeline = random_pipeline(random, schedule, 0);
      const auto run = run_pipeline<std::int64_t>(pipeline.shape, pipeline.stages, pipeline.transfer);
      ASSERT_TRUE(run);
      ASSERT_EQ(pipeline_total<std::int64_t>(pipeline.shape, pipeline.stages, pipeline.transfer).value(), run->total);
      for (std::int64_t device = 0; device < pipeline.shape.devices; ++device) {
        const auto index = static_cast<std::size_t>(device);
        ASSERT_EQ(live_chunks(pipeline.shape, device), run->live[index]);
        ASSERT_EQ(run->busy[index] + run->idle(index), run->total);
      }
    }
  }
}

TEST(Pipeline, ClosedFormsAreTheExecutedTotals) {
  std::mt19937_64 random(3);
  std::map<Schedule, int> compared;
  for (int round = 0; round < 20000; ++round) {
    for (const Schedule schedule : kAll) {
      const RandomPipeline pipeline = random_pipeline(random, schedule, 0);
      const auto closed = closed_total(pipeline.shape, pipeline.stages, pipeline.transfer);
      if (!closed) continue;
      ASSERT_EQ(*closed, pipeline_total<std::int64_t>(pipeline.shape, pipeline.stages, pipeline.transfer).value())
          << to_text(schedule) << " p=" << pipeline.shape.devices << " m=" << pipeline.shape.microbatches
          << " v=" << pipeline.shape.chunks << " t=" << pipeline.transfer;
      ++compared[schedule];
    }
  }
  EXPECT_EQ(compared[Schedule::gpipe], 20000);
  EXPECT_GT(compared[Schedule::one_f_one_b], 10000);
  EXPECT_GT(compared[Schedule::interleaved], 5000);
  EXPECT_GT(compared[Schedule::zero_bubble], 1500);
}

// The last terms of PARALLELISM's table: arXiv:1811.06965, arXiv:2104.04473 section 2.2, arXiv:2401.10241 section 2.3.
TEST(Pipeline, BubblesOfEqualStages) {
  for (const Schedule schedule : kAll) {
    for (std::int64_t devices = 1; devices <= 6; ++devices) {
      for (std::int64_t groups = 1; groups <= 4; ++groups) {
        const std::int64_t chunks = schedule == Schedule::interleaved ? groups : 1;
        const PipelineShape shape{schedule, devices, devices * groups, chunks};
        const bool apart = schedule == Schedule::zero_bubble;
        const Stage stage = apart ? Stage{5, 4, 3} : Stage{5, 10, 0};
        const auto run = run_pipeline<std::int64_t>(shape, equal_stages(shape, stage), 0);
        ASSERT_TRUE(run);
        const Ratio of_ideal{Count(run->bubble()), Count(run->ideal)};
        const std::int64_t m = shape.microbatches;
        if (apart) {
          EXPECT_EQ(of_ideal, Ratio(Count((devices - 1) * (5 + 4 - 3)), Count(m * (5 + 4 + 3))));
          EXPECT_EQ(zero_bubble_of_ideal(shape, stage), of_ideal);
          continue;
        }
        EXPECT_EQ(of_ideal, Ratio(Count(devices - 1), Count(chunks * m)));
        EXPECT_EQ(bubble_of_ideal(shape), of_ideal);
        EXPECT_EQ(bubble_of_total(shape), Ratio(Count(run->bubble()), Count(run->total)));
        EXPECT_EQ(bubble_of_total(shape), Ratio(Count(devices - 1), Count(chunks * m + devices - 1)));
      }
    }
  }
}

// tests/reference/parallelism: counted outside einflow.
TEST(Pipeline, ClosedFormsOfTheGoldenCases) {
  std::ifstream file(std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/parallelism/golden.jsonl");
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    const auto golden = nlohmann::json::parse(line);
    if (!golden.contains("schedule")) continue;
    const PipelineShape shape{parse_schedule(golden.at("schedule").get<std::string>()).value(),
                              golden.at("devices")[0].get<std::int64_t>(),
                              golden.at("microbatches").get<std::int64_t>(), golden.at("chunks").get<std::int64_t>()};
    const auto ratio = [&](const char* key) {
      return Ratio(Count(golden.at(key)[0].get<std::int64_t>()), Count(golden.at(key)[1].get<std::int64_t>()));
    };
    EXPECT_EQ(bubble_of_ideal(shape), ratio("bubble_over_ideal")) << line;
    EXPECT_EQ(bubble_of_total(shape), ratio("bubble_over_total")) << line;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

// A question of users: 16 stages, 64 microbatches, and how many make the share 5 %: (p - 1) / (m + p - 1).
TEST(Pipeline, ShareOfSixteenStages) {
  const PipelineShape shape{Schedule::one_f_one_b, 16, 64, 1};
  EXPECT_EQ(bubble_of_total(shape), Ratio(15, 79));
  EXPECT_NEAR(bubble_of_total(shape)->to_double(), 0.189873417721519, 1e-15);
  EXPECT_EQ(microbatches_for(shape, Ratio(1, 20)), 285);
  EXPECT_EQ(bubble_formula(shape), "(p - 1) / m = (16 - 1) / 64");
  EXPECT_EQ(microbatches_for({Schedule::interleaved, 16, 16, 2}, Ratio(1, 20)), 144);  // 142.5 and a multiple of 16
  EXPECT_EQ(microbatches_for(shape, Ratio(2, 1)), 1);
  EXPECT_EQ(microbatches_for(shape, Ratio()), std::nullopt);
}

TEST(Pipeline, FewestMicrobatchesIsTheFirstThatIsEnough) {
  for (std::int64_t devices = 1; devices <= 7; ++devices) {
    for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
      for (std::int64_t part = 1; part <= 9; ++part) {
        PipelineShape shape{Schedule::interleaved, devices, 0, chunks};
        const Ratio share(Count(part), Count(10));
        const std::int64_t step = chunks > 1 ? devices : 1;
        do shape.microbatches += step;
        while (share < *bubble_of_total(shape));
        ASSERT_EQ(microbatches_for(shape, share), shape.microbatches);
      }
    }
  }
}

// arXiv:2205.05198 section 4: 1F1B holds p microbatches on the first stage, interleaved p (1 + (p - 1) / (p v)) of
// them; arXiv:2401.10241 table 1: ZB-H1 as much as 1F1B's first stage.
TEST(Pipeline, LiveActivations) {
  for (const std::int64_t microbatches : {2, 4, 5, 8, 32}) {
    for (std::int64_t device = 0; device < 4; ++device) {
      EXPECT_EQ(live_chunks({Schedule::gpipe, 4, microbatches, 1}, device), microbatches);
      EXPECT_EQ(live_chunks({Schedule::one_f_one_b, 4, microbatches, 1}, device), std::min(microbatches, 4 - device));
      EXPECT_EQ(live_chunks({Schedule::zero_bubble, 4, microbatches, 1}, device),
                std::min<std::int64_t>(microbatches, 4));
    }
  }
  for (const std::int64_t chunks : {2, 3, 4}) {
    const PipelineShape shape{Schedule::interleaved, 4, 16, chunks};
    EXPECT_EQ(live_chunks(shape, 0), 4 * chunks + 4 - 1);
    EXPECT_DOUBLE_EQ(live_microbatches(shape, 0), 4 * (1 + 3.0 / static_cast<double>(4 * chunks)));
  }
}

// By hand: two stages, three microbatches, f = 1, b = 2, a send takes 1. F0 0-1, F1 1-2 on device 0; device 1: F0 2-3,
// B0 3-5, F1 5-6, B1 6-8; device 0: B0 6-8, F2 8-9; B1 9-11; device 1: F2 10-11, B2 11-13; device 0: B2 14-16.
TEST(Pipeline, SendsThatTakeTime) {
  const PipelineShape shape{Schedule::one_f_one_b, 2, 3, 1};
  const auto run = run_pipeline<std::int64_t>(shape, equal_stages(shape, {1, 2, 0}), 1);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->total, 16);
  EXPECT_EQ(run->ideal, 9);
  EXPECT_EQ(run->bubble(), 7);
  EXPECT_EQ(run->sends, std::vector<std::int64_t>{6});
  EXPECT_EQ(run->starts[0], (std::vector<std::int64_t>{0, 1, 6, 8, 9, 14}));
  EXPECT_EQ(run->starts[1], (std::vector<std::int64_t>{2, 3, 5, 6, 10, 11}));
}

TEST(Pipeline, SendsOverEachCut) {
  const PipelineShape shape{Schedule::interleaved, 2, 4, 3};
  const auto run = run_pipeline<std::int64_t>(shape, equal_stages(shape, {1, 2, 0}), 0);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->sends, std::vector<std::int64_t>(5, 8));  // six stages of the model; forward and backward
  const auto one = run_pipeline<std::int64_t>({Schedule::gpipe, 1, 4, 1}, Stages{{1, 2, 0}}, 5);
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->sends.empty());
  EXPECT_EQ(one->total, 12);
}

// 10 layers on 4 stages: the largest has ceil(10 / 4) = 3; with long steady phases it alone counts.
TEST(Pipeline, UnevenLayers) {
  EXPECT_EQ(layers_of_stages(10, 4), (std::vector<std::int64_t>{3, 3, 2, 2}));
  EXPECT_EQ(layers_of_stages(3, 5), (std::vector<std::int64_t>{1, 1, 1, 0, 0}));
  EXPECT_EQ(layers_of_stages(96, 8), std::vector<std::int64_t>(8, 12));
  Stages stages;
  for (const std::int64_t layers : layers_of_stages(10, 4)) stages.push_back({layers, 2 * layers, 0});
  const PipelineShape shape{Schedule::one_f_one_b, 4, 100, 1};
  const auto run = run_pipeline<std::int64_t>(shape, stages, 0);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->ideal, 900);  // 100 microbatches, 3 layers, 3 units
  EXPECT_EQ(run->busy, (std::vector<std::int64_t>{900, 900, 600, 600}));
  EXPECT_EQ(closed_total(shape, stages, 0), run->total);
  // By hand: device 1 works 900, from 3 (F0 of device 0) on; it has F0, F1, F2 until 12, and waits until 18 for B0: F0
  // of devices 2 and 3 end at 8 and 10, B0 at 14 and 18. Device 0 has 6 after it.
  EXPECT_EQ(run->total, 3 + 900 + 6 + 6);
}

}  // namespace
}  // namespace einflow::cluster
