"""Writes the models of this folder and expected.json, with Debian's python3-onnx (1.12).

    python3 make_models.py

The models hold no weights: initialisers say that their data lie in another file. What is expected of them is worked
out here, without einflow: shapes are those of onnx.shape_inference; MACs are counted by brute force on small models
(every output element, every tap) and by the textbook formula on networks; parameters are the sums of the
initialisers' sizes. Published totals: torchvision 0.14 lists ResNet-50 with 25,557,032 and MobileNetV2 with 3,504,872
parameters; GPT-2 small has 124,439,808 (Hugging Face gpt2), BERT base 109,482,240 (bert-base-uncased with its pooler).
"""

import itertools
import json
import math
import pathlib

import onnx
from onnx import TensorProto, helper, shape_inference

HERE = pathlib.Path(__file__).resolve().parent
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


class Graph:
    """A graph under construction; `x` is always the name of a value."""

    def __init__(self, name, opset=13):
        self.name, self.opset = name, opset
        self.nodes, self.inputs, self.outputs, self.initialisers = [], [], [], []
        self.parameters = self.statistics = 0
        self.count = 0
        self.macs = {}  # of transformers, by the textbook

    def input(self, name, shape, type=FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, type, shape))
        return name

    def weight(self, name, shape, type=FLOAT, role="parameters"):
        tensor = TensorProto(name=name, data_type=type, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="none.bin")
        self.initialisers.append(tensor)
        if role == "parameters":
            self.parameters += math.prod(shape)
        elif role == "statistics":
            self.statistics += math.prod(shape)
        return name

    def integers(self, name, values):
        self.initialisers.append(helper.make_tensor(name, INT64, [len(values)], values))
        return name

    def scalar(self, name, value):
        self.initialisers.append(helper.make_tensor(name, FLOAT, [], [value]))
        self.parameters += 1
        return name

    def node(self, operation, inputs, name="", outputs=1, **attributes):
        self.count += 1
        names = [f"{name or operation.lower() + str(self.count)}_out{i or ''}" for i in range(outputs)]
        self.nodes.append(helper.make_node(operation, inputs, names, name=name, **attributes))
        return names[0] if outputs == 1 else names

    def model(self, *outputs):
        infos = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, self.name, self.inputs, infos, self.initialisers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)],
                                 producer_name="einflow tests", ir_version=8)


def shapes_of(model, sizes=None):
    """Shapes of all values, as the library infers them; `sizes` are those of symbolic dimensions."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for info in copy.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = sizes[dim.dim_param]
    inferred = shape_inference.infer_shapes(copy, strict_mode=True, data_prop=True)
    shapes = {}
    for info in [*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output]:
        if info.type.HasField("tensor_type") and info.type.tensor_type.HasField("shape"):
            shapes[info.name] = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
    for tensor in inferred.graph.initializer:
        shapes[tensor.name] = list(tensor.dims)
    return shapes


def attributes_of(node):
    return {a.name: helper.get_attribute_value(a) for a in node.attribute}


def macs_of(node, shapes):
    """MACs of a Conv or Gemm by the textbook: output elements x products summed in each."""
    output = math.prod(shapes[node.output[0]])
    if node.op_type == "Conv":
        return output * math.prod(shapes[node.input[1]][1:])
    return output * shapes[node.input[0]][0 if attributes_of(node).get("transA") else 1]


def expectation(graph, model, sizes=None, macs=None):
    shapes = shapes_of(model, sizes)
    counted = macs or {node.name: macs_of(node, shapes) for node in model.graph.node
                       if node.op_type in ("Conv", "Gemm")}
    return {"sizes": sizes or {}, "macs": counted, "parameters": graph.parameters, "statistics": graph.statistics,
            "shapes": {name: shapes[name] for node in model.graph.node for name in node.output if name in shapes}}


# Networks ------------------------------------------------------------------------------------------------------------

def conv_bn(g, x, name, channels, filters, kernel, stride=1, padding=0, groups=1, activation="Relu"):
    x = g.node("Conv", [x, g.weight(name + ".weight", [filters, channels // groups, kernel, kernel])], name,
               kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[padding] * 4, group=groups)
    bn = name + ".bn"
    x = g.node("BatchNormalization",
               [x, g.weight(bn + ".weight", [filters]), g.weight(bn + ".bias", [filters]),
                g.weight(bn + ".mean", [filters], role="statistics"), g.weight(bn + ".var", [filters],
                                                                               role="statistics")],
               bn)
    if activation == "Relu":
        x = g.node("Relu", [x], name + ".relu")
    elif activation == "Clip":
        x = g.node("Clip", [x, "zero", "six"], name + ".relu6")
    return x


def resnet50():
    """torchvision.models.resnet50: the stride is in the 3x3 convolution."""
    g = Graph("resnet50")
    x = conv_bn(g, g.input("input", ["batch", 3, 224, 224]), "conv1", 3, 64, 7, 2, 3)
    x = g.node("MaxPool", [x], "maxpool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, (width, blocks) in enumerate(zip([64, 128, 256, 512], [3, 4, 6, 3]), start=1):
        for block in range(blocks):
            name = f"layer{stage}.{block}."
            stride = 2 if stage > 1 and block == 0 else 1
            y = conv_bn(g, x, name + "conv1", channels, width, 1)
            y = conv_bn(g, y, name + "conv2", width, width, 3, stride, 1)
            y = conv_bn(g, y, name + "conv3", width, 4 * width, 1, activation=None)
            if block == 0:
                x = conv_bn(g, x, name + "downsample", channels, 4 * width, 1, stride, activation=None)
            x = g.node("Relu", [g.node("Add", [y, x], name + "add")], name + "relu")
            channels = 4 * width
    x = g.node("GlobalAveragePool", [x], "avgpool")
    x = g.node("Flatten", [x], "flatten", axis=1)
    x = g.node("Gemm", [x, g.weight("fc.weight", [1000, 2048]), g.weight("fc.bias", [1000])], "fc", transB=1)
    return g, g.model(x), {"batch": 1}


def mobilenet_v2():
    """torchvision.models.mobilenet_v2, width 1.0."""
    g = Graph("mobilenet_v2")
    constants(g, ("zero", 0.0), ("six", 6.0))
    x = conv_bn(g, g.input("input", [1, 3, 224, 224]), "features.0", 3, 32, 3, 2, 1, activation="Clip")
    channels, index = 32, 1
    for expand, filters, repeats, stride in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                             (6, 160, 3, 2), (6, 320, 1, 1)]:
        for repeat in range(repeats):
            name, step, y = f"features.{index}.", stride if repeat == 0 else 1, x
            hidden = channels * expand
            if expand != 1:
                y = conv_bn(g, y, name + "expand", channels, hidden, 1, activation="Clip")
            y = conv_bn(g, y, name + "depthwise", hidden, hidden, 3, step, 1, groups=hidden, activation="Clip")
            y = conv_bn(g, y, name + "project", hidden, filters, 1, activation=None)
            x = g.node("Add", [x, y], name + "add") if step == 1 and channels == filters else y
            channels, index = filters, index + 1
    x = conv_bn(g, x, "features.18", 320, 1280, 1, activation="Clip")
    x = g.node("GlobalAveragePool", [x], "pool")
    x = g.node("Reshape", [x, g.integers("flat", [0, -1])], "flatten")
    x = g.node("Gemm", [x, g.weight("classifier.weight", [1000, 1280]), g.weight("classifier.bias", [1000])],
               "classifier",
               transB=1)
    return g, g.model(x), {}


def shape_of_heads(g, x, name, heads, width):
    """[batch, sequence, heads, width / heads] computed as PyTorch's exporter writes it."""
    shape = g.node("Shape", [x], name + ".shape")
    sizes = []
    for axis in range(2):
        size = g.node("Gather", [shape, f"axis{axis}"], f"{name}.gather{axis}", axis=0)
        sizes.append(g.node("Unsqueeze", [size, "axes0"], f"{name}.unsqueeze{axis}"))
    return g.node("Concat", [*sizes, "heads_and_width"], name + ".concat", axis=0)


def common_integers(g, heads, head):
    for name, value in [("axis0", 0), ("axis1", 1)]:
        g.initialisers.append(helper.make_tensor(name, INT64, [], [value]))
    g.integers("axes0", [0])
    g.integers("heads_and_width", [heads, head])
    g.integers("merge", [0, 0, -1])


def layer_norm(g, x, name, width):
    """LayerNormalization in the primitive operators of opset 13."""
    mean = g.node("ReduceMean", [x], name + ".mean", axes=[-1])
    centred = g.node("Sub", [x, mean], name + ".sub")
    squares = g.node("Pow", [centred, "two"], name + ".pow")
    variance = g.node("ReduceMean", [squares], name + ".variance", axes=[-1])
    root = g.node("Sqrt", [g.node("Add", [variance, "epsilon"], name + ".add_epsilon")], name + ".sqrt")
    scaled = g.node("Div", [centred, root], name + ".div")
    gained = g.node("Mul", [scaled, g.weight(name + ".weight", [width])], name + ".gain")
    return g.node("Add", [gained, g.weight(name + ".bias", [width])], name + ".shift")


def constants(g, *pairs):
    """Scalars in Constant nodes, which are no parameters."""
    for name, value in pairs:
        node = helper.make_node("Constant", [], [name], name="constant." + name,
                                value=helper.make_tensor("", FLOAT, [], [value]))
        g.nodes.append(node)


def attention(g, q, k, v, name, heads, width, batch, length):
    head = width // heads
    g.macs[name + ".scores"] = g.macs[name + ".context"] = batch * heads * length * length * head

    def split(x, which, permutation):
        shape = shape_of_heads(g, x, f"{name}.{which}", heads, width)
        return g.node("Transpose", [g.node("Reshape", [x, shape], f"{name}.{which}.split")],
                      f"{name}.{which}.transpose",
                      perm=permutation)

    scores = g.node("MatMul", [split(q, "q", [0, 2, 1, 3]), split(k, "k", [0, 2, 3, 1])], name + ".scores")
    scaled = g.node("Div", [scores, "root"], name + ".scale")
    weights = g.node("Softmax", [scaled], name + ".softmax", axis=-1)
    context = g.node("MatMul", [weights, split(v, "v", [0, 2, 1, 3])], name + ".context")
    merged = g.node("Transpose", [context], name + ".merge", perm=[0, 2, 1, 3])
    return g.node("Reshape", [merged, "merge"], name + ".flat")


def linear(g, x, name, inputs, outputs, tokens):
    g.macs[name] = tokens * inputs * outputs
    x = g.node("MatMul", [x, g.weight(name + ".weight", [inputs, outputs])], name)
    return g.node("Add", [x, g.weight(name + ".bias", [outputs])], name + ".bias_add")


def bert_base():
    """BERT base with pooler: 12 layers, width 768, 12 heads, 30,522 words, 512 positions, 2 segments."""
    g = Graph("bert_base")
    width, heads, batch, length = 768, 12, 2, 128
    tokens = batch * length
    words = g.input("input_ids", ["batch", "sequence"], INT64)
    common_integers(g, heads, width // heads)
    constants(g, ("two", 2.0), ("epsilon", 1e-12), ("root", 8.0), ("half", 0.5), ("one", 1.0), ("root_two", 2 ** 0.5))
    x = g.node("Gather", [g.weight("word_embeddings", [30522, width]), words], "embed.words")
    positions = g.node("Slice", [g.weight("position_embeddings", [512, width]), "axes0",
                                 g.node("Unsqueeze", [g.node("Gather", [g.node("Shape", [words], "embed.shape"),
                                                                        "axis1"],
                                                             "embed.length"), "axes0"], "embed.end"), "axes0"],
                       "embed.positions")
    x = g.node("Add", [x, positions], "embed.add_positions")
    segments = g.node("Gather", [g.weight("token_type_embeddings", [2, width]), g.input("token_type_ids", ["batch",
                                                                                                           "sequence"],
                                                                                       INT64)], "embed.segments")
    x = layer_norm(g, g.node("Add", [x, segments], "embed.add_segments"), "embed.norm", width)
    for i in range(12):
        name = f"layer.{i}"
        q, k, v = (linear(g, x, f"{name}.{which}", width, width, tokens) for which in ("query", "key", "value"))
        y = attention(g, q, k, v, name + ".attention", heads, width, batch, length)
        y = linear(g, y, name + ".output", width, width, tokens)
        x = layer_norm(g, g.node("Add", [y, x], name + ".add1"), name + ".norm1", width)
        y = linear(g, x, name + ".up", width, 3072, tokens)
        erf = g.node("Erf", [g.node("Div", [y, "root_two"], name + ".gelu.div")], name + ".gelu.erf")
        y = g.node("Mul", [y, g.node("Add", [erf, "one"], name + ".gelu.add")], name + ".gelu.mul")
        y = linear(g, g.node("Mul", [y, "half"], name + ".gelu.half"), name + ".down", 3072, width, tokens)
        x = layer_norm(g, g.node("Add", [y, x], name + ".add2"), name + ".norm2", width)
    first = g.node("Gather", [x, "axis0"], "pooler.first", axis=1)
    g.macs["pooler"] = batch * width * width
    pooled = g.node("Gemm", [first, g.weight("pooler.weight", [width, width]), g.weight("pooler.bias", [width])],
                    "pooler",
                    transB=1)
    return g, g.model(g.node("Tanh", [pooled], "pooler.tanh")), {"batch": batch, "sequence": length}


def gpt2():
    """GPT-2 small: 12 layers, width 768, 12 heads, 50,257 words, 1,024 positions, output tied to the embedding."""
    g = Graph("gpt2", opset=17)
    width, heads, batch, length = 768, 12, 1, 1024
    tokens = batch * length
    words = g.input("input_ids", ["batch", "sequence"], INT64)
    common_integers(g, heads, width // heads)
    constants(g, ("root", 8.0))
    wte = g.weight("wte", [50257, width])
    x = g.node("Gather", [wte, words], "embed.words")
    end = g.node("Unsqueeze", [g.node("Gather", [g.node("Shape", [words], "embed.shape"), "axis1"], "embed.length"),
                               "axes0"],
                 "embed.end")
    x = g.node("Add", [x, g.node("Slice", [g.weight("wpe", [1024, width]), "axes0", end, "axes0"], "embed.positions")],
               "embed.add")

    def norm(x, name):
        return g.node("LayerNormalization", [x, g.weight(name + ".weight", [width]), g.weight(name + ".bias",
                                                                                              [width])], name)

    for i in range(12):
        name = f"h.{i}"
        qkv = linear(g, norm(x, name + ".ln_1"), name + ".c_attn", width, 3 * width, tokens)
        q, k, v = g.node("Split", [qkv], name + ".split", outputs=3, axis=2)
        y = attention(g, q, k, v, name + ".attn", heads, width, batch, length)
        x = g.node("Add", [x, linear(g, y, name + ".c_proj", width, width, tokens)], name + ".add1")
        y = linear(g, norm(x, name + ".ln_2"), name + ".c_fc", width, 4 * width, tokens)
        y = linear(g, g.node("Tanh", [y], name + ".act"), name + ".mlp_proj", 4 * width, width, tokens)
        x = g.node("Add", [x, y], name + ".add2")
    x = norm(x, "ln_f")
    g.macs["lm_head"] = tokens * width * 50257
    head = g.node("Transpose", [wte], "lm_head.transpose", perm=[1, 0])
    return g, g.model(g.node("MatMul", [x, head], "lm_head")), {"batch": batch, "sequence": length}


# Small models, counted by brute force ---------------------------------------------------------------------------------

def conv_macs(batch, channels, filters, groups, outputs, kernels):
    """Every output element, every tap, padding included: the machine multiplies it."""
    macs = 0
    for _ in itertools.product(range(batch), range(filters), *map(range, outputs)):
        for _ in itertools.product(range(channels // groups), *map(range, kernels)):
            macs += 1
    return macs


def scatter_macs(size, kernel, stride, dilation, begin, output):
    """Gathering a transposed convolution by phases: each output of a phase meets all taps of its phase."""
    total = 0
    for phase in range(stride):
        outputs = len(range(phase, output, stride))
        taps = [k for k in range(kernel) if (phase + begin - dilation * k) % stride == 0]
        reached = any((o + begin - dilation * k) % stride == 0 and 0 <= (o + begin - dilation * k) // stride < size
                      for o in range(phase, output, stride) for k in taps)
        total += outputs * len(taps) if reached else 0
    return total


def small_models():
    g = Graph("convolutions")
    x = g.input("x", [2, 4, 9, 10])
    a = g.node("Conv", [x, g.weight("wa", [6, 4, 3, 2]), g.weight("ba", [6])], "plain", pads=[1, 0, 2, 1],
               strides=[2, 1])
    b = g.node("Conv", [x, g.weight("wb", [8, 2, 3, 3])], "grouped", group=2, dilations=[2, 2], auto_pad="SAME_UPPER")
    c = g.node("Conv", [x, g.weight("wc", [8, 1, 3, 3]), g.weight("bc", [8])], "depthwise", group=4,
               auto_pad="SAME_LOWER",
               strides=[2, 2])
    d = g.node("Conv", [g.input("line", [1, 3, 20]), g.weight("wd", [5, 3, 4])], "line", auto_pad="VALID", strides=[3])
    e = g.node("Conv", [g.input("volume", [1, 2, 4, 5, 6]), g.weight("we", [3, 2, 2, 2, 2])], "volume",
               pads=[0, 1, 0, 1, 0, 1])
    model = g.model(a, b, c, d, e)
    shapes = shapes_of(model)
    macs = {"plain": conv_macs(2, 4, 6, 1, shapes[a][2:], [3, 2]),
            "grouped": conv_macs(2, 4, 8, 2, shapes[b][2:], [3, 3]),
            "depthwise": conv_macs(2, 4, 8, 4, shapes[c][2:], [3, 3]),
            "line": conv_macs(1, 3, 5, 1, shapes[d][2:], [4]),
            "volume": conv_macs(1, 2, 3, 1, shapes[e][2:], [2, 2, 2])}
    yield g, model, {}, macs

    g = Graph("transposed")
    x = g.input("x", [1, 4, 5, 6])
    a = g.node("ConvTranspose", [x, g.weight("wa", [4, 3, 3, 4]), g.weight("ba", [3])], "up", strides=[2, 3],
               pads=[1, 0, 1, 1],
               output_padding=[1, 0])
    b = g.node("ConvTranspose", [x, g.weight("wb", [4, 2, 2, 2])], "groups", group=2, strides=[2, 2])
    model = g.model(a, b)
    shapes = shapes_of(model)
    macs = {"up": 1 * 4 * 3 * scatter_macs(5, 3, 2, 1, 1, shapes[a][2]) * scatter_macs(6, 4, 3, 1, 0, shapes[a][3]),
            "groups": 1 * 4 * 2 * scatter_macs(5, 2, 2, 1, 0, shapes[b][2]) * scatter_macs(6, 2, 2, 1, 0, shapes[b][3])}
    yield g, model, {}, macs

    g = Graph("products", opset=12)
    a = g.node("MatMul", [g.input("a", ["rows", 3, 4, 5]), g.input("b", [1, 5, 6])], "broadcast")
    b = g.node("MatMul", [g.input("v", [5]), g.weight("m", [5, 7])], "vector")
    c = g.node("Gemm", [g.input("p", [8, 3]), g.weight("q", [9, 8]), g.weight("bias", [9])], "gemm", transA=1, transB=1,
               alpha=0.5, beta=2.0)
    d = g.node("Einsum", [g.input("e", [2, 3, 4]), g.input("f", [2, 5, 4])], "einsum", equation="bij, bkj -> bik")
    e = g.node("Einsum", [g.input("h", [2, 1, 3, 4]), g.input("i", [6, 4])], "ellipsis", equation="...j,kj")
    model = g.model(a, b, c, d, e)
    macs = {"broadcast": 2 * 3 * 4 * 6 * 5, "vector": 7 * 5, "gemm": 3 * 9 * 8, "einsum": 2 * 3 * 5 * 4,
            "ellipsis": 2 * 1 * 3 * 6 * 4}
    yield g, model, {"rows": 2}, macs

    g = Graph("quantised")
    g.initialisers += [helper.make_tensor("s", FLOAT, [], [0.5]), helper.make_tensor("z", TensorProto.INT8, [], [0])]
    x = g.node("QuantizeLinear", [g.input("x", [1, 3, 8, 8]), "s", "z"], "quantise")
    x = g.node("QLinearConv", [x, "s", "z", g.weight("w", [4, 3, 3, 3], TensorProto.INT8), "s", "z", "s", "z",
                               g.weight("b", [4], TensorProto.INT32)], "qconv", pads=[1] * 4)
    x = g.node("DequantizeLinear", [x, "s", "z"], "dequantise")
    yield g, g.model(x), {}, {"qconv": conv_macs(1, 3, 4, 1, [8, 8], [3, 3])}


def control_flow():
    """Operators with graphs inside, with data-dependent outputs, recurrent ones and ones of another domain."""
    g = Graph("uncounted")
    x = g.input("x", [4, 8])
    then = helper.make_graph([helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Exp", ["t"], ["tt"])],
                             "then", [],
                             [helper.make_tensor_value_info("tt", FLOAT, [4, 8])])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["e"])], "else", [],
                              [helper.make_tensor_value_info("e", FLOAT, [4, 8])])
    choice = g.node("If", [g.input("flag", [], TensorProto.BOOL)], "choice", then_branch=then, else_branch=other)
    lost = g.node("Relu", [choice], "after_choice")
    places = g.node("NonZero", [x], "places")
    sorted_, _ = g.node("TopK", [x, g.integers("k", [3])], "top", outputs=2)
    larger = g.node("Where", [g.node("Greater", [x, g.input("y", [4, 8])], "greater"), x, "y"], "where")
    hidden = g.node("LSTM", [g.input("s", [5, 2, 3]), g.weight("lw", [1, 16, 3]), g.weight("lr", [1, 16, 4])], "lstm",
                    hidden_size=4)
    power = g.node("Pow", [x, "y"], "pow")
    foreign = g.node("FusedThing", [x], "fused")
    g.nodes[-1].domain = "com.example"
    model = g.model(lost, places, sorted_, larger, hidden, power, foreign)
    model.opset_import.append(helper.make_opsetid("com.example", 1))
    return g, model


def newer_opset():
    """Operators that changed or appeared after opset 17, which the library of Debian 12 does not know."""
    g = Graph("newer", opset=20)
    x = g.input("x", [2, 8, 6, 6])
    x = g.node("GroupNormalization", [x, g.weight("gn.weight", [4]), g.weight("gn.bias", [4])], "norm", num_groups=4)
    x = g.node("Gelu", [x], "gelu")
    parts = g.node("Split", [x], "split", outputs=3, axis=1, num_outputs=3)
    mean = g.node("ReduceMean", [parts[2], g.integers("axes", [2, 3])], "mean", keepdims=0)
    y = g.node("MatMul", [mean, g.weight("w", [2, 5])], "head")
    return g, g.model(y), {"split_out": [2, 3, 6, 6], "split_out1": [2, 3, 6, 6], "split_out2": [2, 2, 6, 6],
                           "mean_out": [2, 2], "head_out": [2, 5], "gelu_out": [2, 8, 6, 6]}


def tiny():
    """The example of docs/notations/onnx.md."""
    g = Graph("tiny")
    x = g.input("image", ["batch", 3, 32, 32])
    x = g.node("Conv", [x, g.weight("conv.weight", [8, 3, 3, 3]), g.weight("conv.bias", [8])], "conv", pads=[1] * 4,
               strides=[2, 2])
    x = g.node("Relu", [x], "relu")
    x = g.node("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    x = g.node("Flatten", [x], "flatten")
    x = g.node("Gemm", [x, g.weight("fc.weight", [10, 512]), g.weight("fc.bias", [10])], "fc", transB=1)
    return g.model(g.node("Softmax", [x], "softmax"))


def save(model, path):
    path.write_bytes(model.SerializeToString())


def main():
    expected = {}
    for g, model, sizes in [resnet50(), mobilenet_v2(), bert_base(), gpt2()]:
        save(model, HERE / f"{g.name}.onnx")
        expected[g.name] = expectation(g, model, sizes, g.macs)
        expected[g.name].pop("shapes")
    for g, model, sizes, macs in small_models():
        save(model, HERE / f"{g.name}.onnx")
        expected[g.name] = expectation(g, model, sizes, macs)
        if g.name == "products":  # onnx 1.12 infers the number of axes of Einsum's output only
            expected[g.name]["shapes"].update({"einsum_out": [2, 3, 5], "ellipsis_out": [2, 1, 3, 6]})
    g, model = control_flow()
    save(model, HERE / "uncounted.onnx")
    g, model, shapes = newer_opset()
    save(model, HERE / "newer.onnx")
    expected["newer"] = {"sizes": {}, "macs": {"head": 2 * 5 * 2}, "parameters": g.parameters, "statistics": 0,
                         "shapes": shapes}
    published = {"resnet50": 25_557_032, "mobilenet_v2": 3_504_872, "bert_base": 109_482_240, "gpt2": 124_439_808}
    for name, parameters in published.items():
        assert expected[name]["parameters"] == parameters, (name, expected[name]["parameters"])
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")
    save(tiny(), HERE.parents[2] / "examples" / "notations" / "onnx" / "tiny.onnx")


if __name__ == "__main__":
    main()
