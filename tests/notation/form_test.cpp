#include "notation/form.hpp"

#include <gtest/gtest.h>

#include <set>

#include "problem/constructors.hpp"

namespace einflow {
namespace {

TEST(Forms, HaveNamesOfTheirOwnAndAreReadOrWritten) {
  std::set<std::string_view> names;
  for (const Form& form : forms()) {
    EXPECT_TRUE(names.insert(form.name).second) << form.name;
    EXPECT_TRUE(form.read != nullptr || form.write != nullptr) << form.name;
    EXPECT_FALSE(form.summary.empty()) << form.name;
  }
}

TEST(Forms, AMisspeltNameHasTheNearest) {
  const auto form = form_named("timelop");
  ASSERT_FALSE(form);
  EXPECT_EQ(form.error().front().message, "there is no form 'timelop'");
  EXPECT_EQ(form.error().front().hint, "did you mean 'timeloop'?");
}

TEST(Forms, WhatNoOtherFormRecognisesIsEinflows) {
  for (const char* text : {"", "problem: x\nmachine: toy\n", "\x01\x02\x03", "hello"}) {
    const auto form = recognised_form({{"a.yaml", text}});
    ASSERT_TRUE(form);
    EXPECT_EQ((*form)->name, "einflow") << text;
  }
}

Document network() {
  Document document;
  for (const char* name : {"first", "second"}) {
    DocumentLayer layer;
    layer.name = name;
    layer.cascade.einsums = {matmul(2, 3, 4)};
    document.layers.push_back(layer);
  }
  return document;
}

TEST(Documents, ALayerIsChosenByName) {
  const Document document = network();
  ASSERT_TRUE(choose_layer(document, "second"));
  EXPECT_EQ((*choose_layer(document, "second"))->name, "second");
  const auto none = choose_layer(document, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().message, "the text has 2 layers; choose one");
  EXPECT_EQ(none.error().front().hint, "--layer NAME, names: first, second");
  const auto misspelt = choose_layer(document, "secnd");
  ASSERT_FALSE(misspelt);
  EXPECT_EQ(misspelt.error().front().hint, "did you mean 'second'?");
}

TEST(Documents, ALayerWithoutAMachineIsNoSpec) {
  const auto spec = spec_of(network().layers.front());
  ASSERT_FALSE(spec);
  EXPECT_EQ(spec.error().front().message, "the machine is missing: this notation has none");
}

TEST(Documents, OneOfSeveralEinsumsIsChosen) {
  DocumentLayer layer;
  layer.name = "pair";
  layer.cascade.einsums = {matmul(2, 3, 4), matmul(5, 6, 7)};
  layer.cascade.einsums[0].name = "up";
  layer.cascade.einsums[1].name = "down";
  layer.machine = Machine{};
  layer.machine->levels = {Storage{}, Compute{}};
  const auto none = spec_of(layer);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().front().hint, "--layer pair/PART, parts: up, down");
  const auto down = spec_of(layer, "down");
  ASSERT_TRUE(down);
  EXPECT_EQ(down->einsum.ranks[0].extent, 5);
}

}  // namespace
}  // namespace einflow
