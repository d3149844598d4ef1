#include <gtest/gtest.h>

#include "problem/einsum.hpp"

namespace einflow {
namespace {

TEST(ElementType, WidthsAreThoseInMemory) {
  EXPECT_EQ(find_element_type("bf16")->bits, 16);
  EXPECT_EQ(find_element_type("fp8")->bits, 8);
  EXPECT_EQ(find_element_type("fp4")->bits, 4);
  EXPECT_EQ(find_element_type("int1")->bits, 1);
  EXPECT_EQ(find_element_type("tf32")->bits, 32) << "19 bits in the multiplier, 32 in memory (NVIDIA A100 whitepaper)";
  EXPECT_EQ(find_element_type("bool")->bits, 8) << "as numpy and PyTorch store it";
}

TEST(ElementType, AnyWidthHasAName) {
  EXPECT_EQ(find_element_type("12-bit")->bits, 12);
  EXPECT_EQ(find_element_type("1024-bit")->bits, 1024);
  for (const char* name : {"", "-bit", "0-bit", "1025-bit", "012-bit", "-1-bit", "x-bit", "12bit", "BF16", "fp17"}) {
    EXPECT_EQ(find_element_type(name), std::nullopt) << name;
  }
}

TEST(ElementType, EachNameIsThereOnce) {
  for (const ElementType& type : element_types()) EXPECT_EQ(find_element_type(type.name), type);
}

}  // namespace
}  // namespace einflow
