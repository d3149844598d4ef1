"""Writes the faulty models of tests/notation/onnx/wrong with python3-onnx (1.12): python3 make_wrong_models.py"""

import pathlib

import onnx
from onnx import TensorProto, helper

import make_models as models
from make_models import FLOAT, INT64, Graph

WRONG = pathlib.Path(__file__).resolve().parents[2] / "notation" / "onnx" / "wrong"


def write(name, content):
    (WRONG / f"{name}.onnx").write_bytes(content if isinstance(content, bytes) else content.SerializeToString())


def one_node(operation, shapes, opset=13, **attributes):
    """A model of one node `it` whose inputs a, b, ... have these shapes."""
    g = Graph(operation.lower(), opset)
    names = [g.input(name, shape) for name, shape in zip("abcdef", shapes)]
    return g.model(g.node(operation, names, "it", **attributes))


def conv(shape, filters, **attributes):
    return one_node("Conv", [shape, filters], **attributes)


def initialised(tensor, **more):
    g = Graph("data")
    g.initialisers.append(tensor)
    return g.model(g.node("Add", [g.input("x", [2, 3]), tensor.name], "it"))


def nested(depth):
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "inner", [], [])
    for _ in range(depth):
        graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=graph)], "inner", [], [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def main():
    tiny = models.tiny().SerializeToString()
    write("empty", b"")
    write("text", b"This is not a model but a text about one.\n")
    write("truncated", tiny[:-40])
    write("html", b"<!DOCTYPE html><html><body>404: Not Found</body></html>\n")
    write("git_lfs_pointer", b"version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 102530333\n")
    write("wrong_wire_type", b"\x08\x08\x38\x05")

    model = models.tiny()
    model.ClearField("graph")
    write("no_graph", model)
    model = models.tiny()
    del model.graph.node[:]
    write("no_nodes", model)
    model = models.tiny()
    del model.opset_import[:]
    write("no_opset", model)
    model = models.tiny()
    model.opset_import[0].version = 0
    write("opset_0", model)
    g = Graph("domains")
    y = g.node("Relu", [g.input("x", [2])], "it")
    g.nodes[-1].domain = "com.example"
    write("no_opset_of_domain", g.model(y))

    write("unknown_operator", one_node("Convv", [[1, 3, 8, 8], [4, 3, 3, 3]]))
    write("operator_of_later_opset", one_node("HardSwish", [[2, 3]], opset=11))
    write("unknown_attribute", conv([1, 3, 8, 8], [4, 3, 3, 3], stride=[2, 2]))
    write("missing_attribute", one_node("MaxPool", [[1, 3, 8, 8]]))
    write("attribute_of_wrong_type", conv([1, 3, 8, 8], [4, 3, 3, 3], strides=2))
    write("too_few_inputs", one_node("MatMul", [[2, 3]]))

    write("sizes_open", one_node("MatMul", [["batch", "sequence", 8], [None, 5]]))
    write("sizes_negative", one_node("Relu", [[2, -3]]))
    write("size_huge", one_node("Relu", [[2, 1 << 62]]))
    write("too_many_axes", one_node("Relu", [[1] * 40]))

    write("matmul_sizes", one_node("MatMul", [[2, 3], [4, 5]]))
    write("broadcast_sizes", one_node("Add", [[2, 3], [2, 4]]))
    write("conv_channels", conv([1, 3, 8, 8], [4, 2, 3, 3]))
    write("conv_groups", conv([1, 4, 8, 8], [5, 2, 3, 3], group=2))
    write("conv_axes", conv([1, 3, 8], [4, 3, 3, 3]))
    write("window_too_large", conv([1, 3, 8, 8], [4, 3, 5, 5], dilations=[1, 2], pads=[0, 0, 0, 0]))
    write("pads_twice", conv([1, 3, 8, 8], [4, 3, 3, 3], auto_pad="SAME_UPPER", pads=[1, 1, 1, 1]))
    write("pads_length", conv([1, 3, 8, 8], [4, 3, 3, 3], pads=[1, 1]))
    write("stride_0", conv([1, 3, 8, 8], [4, 3, 3, 3], strides=[0, 1]))
    write("einsum_indices", one_node("Einsum", [[2, 3], [4, 5]], equation="ij,jk->ik"))

    g = Graph("reshape")
    write("reshape_elements", g.model(g.node("Reshape", [g.input("x", [2, 3]), g.integers("shape", [4, -1])], "it")))
    g = Graph("declared")
    y = g.node("Relu", [g.input("x", [2, 3])], "it")
    model = g.model(y)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info(y, FLOAT, [2, 4]))
    write("declared_shape", model)

    g = Graph("cycle")
    g.input("x", [2])
    g.nodes += [helper.make_node("Add", ["x", "c"], ["a"], "first"), helper.make_node("Relu", ["a"], ["b"], "second"),
                helper.make_node("Exp", ["b"], ["c"], "third")]
    write("cycle", g.model("c"))
    g = Graph("order")
    g.input("x", [2])
    g.nodes += [helper.make_node("Relu", ["a"], ["b"], "second"), helper.make_node("Exp", ["x"], ["a"], "first")]
    write("order", g.model("b"))
    g = Graph("made_twice")
    g.input("x", [2])
    g.nodes += [helper.make_node("Relu", ["x"], ["y"], "first"), helper.make_node("Exp", ["x"], ["y"], "second")]
    write("made_twice", g.model("y"))
    g = Graph("undefined")
    g.input("input_image", [2])
    g.nodes.append(helper.make_node("Relu", ["input_imag"], ["y"], "it"))
    write("undefined", g.model("y"))
    write("output_of_nobody", _with_output(one_node("Relu", [[2]]), "logits"))
    g = Graph("twins")
    g.weight("w", [2, 3])
    g.weight("w", [3, 2])
    write("initialisers_twice", g.model(g.node("Relu", ["w"], "it")))
    g = Graph("twins")
    g.input("x", [2, 3])
    g.input("x", [3, 2])
    write("inputs_twice", g.model(g.node("Relu", ["x"], "it")))
    tensor = TensorProto(name="w", data_type=INT64, dims=[2, 3], raw_data=bytes(10))
    write("data_length", initialised(tensor))
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[2, -3])
    write("initialiser_negative", initialised(tensor))
    write("nested_graphs", nested(40))


def _with_output(model, name):
    model.graph.output.append(onnx.ValueInfoProto(name=name))
    return model


if __name__ == "__main__":
    main()
