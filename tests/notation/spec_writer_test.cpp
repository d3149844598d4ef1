// What is written in einflow's own form reads back as the same values.
#include "notation/spec_writer.hpp"

#include <gtest/gtest.h>

#include "notation/library.hpp"
#include "notation/spec_reader.hpp"
#include "problem/constructors.hpp"

namespace einflow {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Machine read_back(const Machine& machine) {
  const auto text = machine_text(machine);
  if (!text) throw std::runtime_error(text.error().front().message);
  const SourceText source{"written", "problem: {matmul: {m: 2, n: 2, k: 2}}\n" + *text};
  const auto read = read_spec(source, kLibrary, MappingPart::optional);
  if (!read) throw std::runtime_error(render(read.error(), source));
  return read->spec.machine;
}

TEST(SpecWriter, EveryMachineOfTheLibraryReadsBack) {
  for (const std::string& name : machine_names(kLibrary)) {
    const auto machine = machine_named(name, kLibrary);
    ASSERT_TRUE(machine) << name;
    EXPECT_EQ(read_back(machine->machine), machine->machine) << name;
  }
}

TEST(SpecWriter, EveryKeyOfALevelReadsBack) {
  Machine machine;
  machine.name = "all keys: \"quoted\"";
  machine.clock_hz = Ratio(Count(1980000000));
  machine.clock_stated = true;
  machine.notes = {"a note, with a comma"};
  Storage memory;
  memory.name = "Memory";
  memory.capacity_bits = Count(12);                           // no whole byte
  memory.read_bandwidth = Ratio(Count(1000), Count(3 * 66));  // 10^10 B/s at the clock: no decimal per cycle
  memory.shared_port = true;
  memory.read_energy = AccessEnergy{0.1, AccessEnergy::Per::byte};
  memory.write_energy = AccessEnergy{1e-7, AccessEnergy::Per::access};
  memory.access_bits = Count(64);
  memory.source = "a data sheet: page 3";
  Mesh mesh;
  mesh.name = "array";
  mesh.axes = {{"x", 3}, {"y", 4}};
  mesh.multicast = mesh.forwarding = true;
  mesh.systolic = SystolicTiming::drained;
  mesh.hop_energy = AccessEnergy{0.25, AccessEnergy::Per::element};
  Storage registers;
  registers.name = "RF";
  registers.write_bandwidth = Ratio(Count(1), Count(2));
  registers.double_buffered = true;
  Compute compute;
  compute.name = "MMA";
  compute.rate = {{"bf16", Ratio(Count(512))}, {"int8", Ratio(Count(1024))}};
  compute.energy = {{"bf16", 0.3}};
  compute.atomic = {{"m", 16}, {"n", 8}, {"k", 16}};
  compute.operand_latches = true;
  machine.levels = {memory, mesh, registers, compute};
  EXPECT_EQ(read_back(machine), machine);
}

TEST(SpecWriter, AFigureWithoutDecimalsIsAnError) {
  Machine machine;
  Storage memory;
  memory.name = "Memory";
  memory.read_bandwidth = Ratio(Count(1), Count(3));
  machine.levels = {memory, Compute{}};
  const auto text = machine_text(machine);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().front().message, "a figure of 'Memory', 1/3 B per cycle, has no finite decimal");
}

TEST(SpecWriter, AProblemFileKeepsEveryLayer) {
  Document document;
  document.name = "two layers";
  for (const auto& [name, repeat] : {std::pair{"a/b", 3}, std::pair{"a_b", 1}}) {
    DocumentLayer layer;
    layer.name = name;
    layer.repeat = repeat;
    layer.cascade.einsums = {matmul(2, 3, 4)};
    document.layers.push_back(layer);
  }
  const auto writing = write_problem_file(document);
  ASSERT_TRUE(writing);
  const auto file = read_problem_text({"written", writing->text});
  ASSERT_TRUE(file) << render(file.error(), {"written", writing->text});
  EXPECT_EQ(file->name, "two_layers");
  ASSERT_EQ(file->layers.size(), 2U);
  EXPECT_EQ(file->layers[0].name, "a_b");
  EXPECT_EQ(file->layers[0].repeat, 3);
  EXPECT_EQ(file->layers[1].name, "a_b_") << "names stay distinct";
  EXPECT_EQ(to_text(file->layers[1].cascade.einsums.front()), to_text(matmul(2, 3, 4)));
}

}  // namespace
}  // namespace einflow
