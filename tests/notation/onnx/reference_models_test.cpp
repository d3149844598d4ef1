// The models of tests/reference/onnx against what make_models.py there works out without einflow.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "notation/einsum_text.hpp"
#include "notation/library.hpp"
#include "notation/onnx/graph_check.hpp"
#include "notation/onnx/inference.hpp"
#include "notation/onnx/onnx.hpp"
#include "notation/onnx/wire.hpp"

namespace einflow {
namespace {

const std::string kRoot = EINFLOW_SOURCE_DIR;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const nlohmann::json& expectations() {
  static const auto all = nlohmann::json::parse(text_of(kRoot + "/tests/reference/onnx/expected.json"));
  return all;
}

SourceText model_text(const std::string& name) {
  return {name + ".onnx", text_of(kRoot + "/tests/reference/onnx/" + name + ".onnx")};
}

ReadOptions options_of(const std::string& name) {
  ReadOptions options;
  for (const auto& [key, size] : expectations().at(name).at("sizes").items()) {
    options.settings[key] = std::to_string(size.get<std::int64_t>());
  }
  return options;
}

Document read(const std::string& name) {
  const auto document = read_onnx({model_text(name)}, options_of(name));
  EXPECT_TRUE(document) << (document ? "" : render(document.error(), {name, {}}));
  return document ? *document : Document{};
}

Count macs_of(const DocumentLayer& layer) {
  Count macs = 0;
  for (const Einsum& einsum : layer.cascade.einsums) {
    if (einsum.is_mac()) macs += einsum.operations();
  }
  return macs;
}

Count macs_of(const Document& document) {
  Count macs = 0;
  for (const DocumentLayer& layer : document.layers) macs += macs_of(layer);
  return macs;
}

std::int64_t figure(const Document& document, const std::string& name) {
  for (const DocumentFigure& figure : document.figures) {
    if (figure.name == name) return *figure.value.to_int64();
  }
  return 0;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const auto& [name, expected] : expectations().items()) all.push_back(name);
  return all;
}

class ReferenceModel : public ::testing::TestWithParam<std::string> {};

TEST_P(ReferenceModel, MacsOfEveryLayerAreThoseWorkedOut) {
  std::map<std::string, std::int64_t> found, expected;
  std::int64_t total = 0;
  for (const auto& [layer, macs] : expectations().at(GetParam()).at("macs").items()) {
    expected[layer] = macs.get<std::int64_t>();
    total += expected[layer];
  }
  const Document document = read(GetParam());
  for (const DocumentLayer& layer : document.layers) {
    if (macs_of(layer) > Count(0)) found[layer.name] = *macs_of(layer).to_int64();
  }
  EXPECT_EQ(found, expected);
  EXPECT_EQ(macs_of(document), Count(total));
}

TEST_P(ReferenceModel, ParametersAreThoseOfTheInitialisers) {
  const Document document = read(GetParam());
  EXPECT_EQ(figure(document, "parameters"), expectations().at(GetParam()).at("parameters").get<std::int64_t>());
  EXPECT_EQ(figure(document, "running statistics"), expectations().at(GetParam()).at("statistics").get<std::int64_t>());
  Count in_layers = figure(document, "parameters of no layer");
  for (const DocumentLayer& layer : document.layers) in_layers += layer.parameters.value_or(Count(0));
  EXPECT_EQ(in_layers, Count(figure(document, "parameters")));
}

TEST_P(ReferenceModel, EveryNodeIsALayerOrUncounted) {
  const auto essential = essential_model(model_text(GetParam()).text);
  ASSERT_TRUE(essential);
  const auto library = OnnxLibrary::parse(essential->bytes);
  ASSERT_TRUE(library);
  const auto graph = library->graph();
  ASSERT_TRUE(graph);
  const Document document = read(GetParam());
  std::int64_t uncounted = 0, both = 0;
  for (const Uncounted& operation : document.uncounted) {
    uncounted += operation.repeat;
    if (operation.because.find("MACs are counted") != std::string::npos) both += operation.repeat;
  }
  EXPECT_EQ(static_cast<std::int64_t>(document.layers.size()) + uncounted - both,
            static_cast<std::int64_t>(graph->nodes.size()));
}

TEST_P(ReferenceModel, EinsumsReadBackFromTheirTexts) {
  for (const DocumentLayer& layer : read(GetParam()).layers) {
    for (const Einsum& einsum : layer.cascade.einsums) {
      const auto parsed = parse_einsum_text(to_text(einsum));
      ASSERT_TRUE(parsed) << to_text(einsum);
      EXPECT_EQ(to_text(parsed->einsum), to_text(einsum));
    }
  }
}

TEST_P(ReferenceModel, ShapesAreThoseOfTheLibrary) {
  const auto& expected = expectations().at(GetParam());
  if (!expected.contains("shapes")) return;  // a network: its MACs need all of its shapes
  const auto essential = essential_model(model_text(GetParam()).text);
  auto library = OnnxLibrary::parse(essential->bytes);
  ASSERT_TRUE(library);
  auto graph = library->graph();
  ASSERT_TRUE(graph);
  ASSERT_TRUE(set_symbols(options_of(GetParam()).settings, *graph).empty());
  ASSERT_TRUE(infer_shapes(*library, *graph).empty());
  for (const auto& [value, shape] : expected.at("shapes").items()) {
    EXPECT_EQ(graph->values.at(static_cast<std::size_t>(graph->ids.at(value))).sizes(), shape.get<OnnxSizes>())
        << value;
  }
}

INSTANTIATE_TEST_SUITE_P(Onnx, ReferenceModel, ::testing::ValuesIn(names()));

/// MACs of the products of a library network, one entry for each occurrence, in order.
std::vector<Count> macs_of_library(const std::string& name) {
  std::vector<Count> all;
  const auto file = problem_named(name, {{kRoot}});
  EXPECT_TRUE(file);
  for (const Layer& layer : file->layers) {
    for (std::int64_t i = 0; i < layer.repeat; ++i) {
      for (const Einsum& einsum : layer.cascade.einsums) {
        if (einsum.is_mac()) all.push_back(einsum.operations());
      }
    }
  }
  return all;
}

std::vector<Count> sorted_macs(const Document& document) {
  std::vector<Count> all;
  for (const DocumentLayer& layer : document.layers) {
    if (macs_of(layer) > Count(0)) all.push_back(macs_of(layer));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Onnx, ResNet50AndMobileNetV2AreThoseOfTheProblemLibraryLayerByLayer) {
  for (const auto& [model, problem] :
       std::map<std::string, std::string>{{"resnet50", "resnet50"}, {"mobilenet_v2", "mobilenet-v2"}}) {
    auto expected = macs_of_library(problem);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(sorted_macs(read(model)), expected) << model;
  }
}

TEST(Onnx, TotalsArePublishedOnes) {
  // torchvision's model pages and the papers of the networks (tests/reference/onnx/make_models.py names them).
  const Document resnet = read("resnet50");
  EXPECT_EQ(macs_of(resnet), Count(4'089'184'256));
  EXPECT_EQ(figure(resnet, "parameters"), 25'557'032);
  EXPECT_EQ(figure(resnet, "running statistics"), 53'120);
  EXPECT_EQ(figure(resnet, "weights"), 25'557'032 * 4);
  const Document mobilenet = read("mobilenet_v2");
  EXPECT_EQ(macs_of(mobilenet), Count(300'774'272));
  EXPECT_EQ(figure(mobilenet, "parameters"), 3'504'872);
  EXPECT_EQ(figure(read("gpt2"), "parameters"), 124'439'808);
  EXPECT_EQ(figure(read("bert_base"), "parameters"), 109'482'240);
}

TEST(Onnx, TiedWeightsAreCountedOnce) {
  const Document gpt2 = read("gpt2");
  std::map<std::string, std::optional<Count>> parameters;
  for (const DocumentLayer& layer : gpt2.layers) parameters[layer.name] = layer.parameters;
  EXPECT_EQ(parameters.at("lm_head"), Count(50257 * 768)) << "through the Transpose; the Gather has no layer";
  EXPECT_EQ(parameters.at("embed.add"), Count(1024 * 768)) << "through a Slice that is fixed once the sizes are";
  EXPECT_EQ(figure(gpt2, "parameters of no layer"), 0);
}

TEST(Onnx, EveryReasonIsNamed) {
  const auto document = read_onnx({model_text("uncounted")}, {});
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->layers.empty());
  std::map<std::string, std::string> reasons;
  for (const Uncounted& operation : document->uncounted) reasons[operation.operation] = operation.because;
  EXPECT_EQ(reasons.size(), 9U);
  EXPECT_EQ(reasons.at("If"), "runs another graph (3 operators in it), how often and which depends on data");
  EXPECT_EQ(reasons.at("Relu"), "sizes are not known after 'choice' (If)");
  EXPECT_EQ(reasons.at("FusedThing"), "an operator of the domain com.example: einflow knows ONNX's own");
}

}  // namespace
}  // namespace einflow
