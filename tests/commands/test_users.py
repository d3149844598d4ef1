"""Questions that users of such tools asked, answered by the command.

The questions, their sources and the right answers stand in tests/reference/users/cases.json; each test is named
after its key there. tests/reference/users/README.md lists the questions that need more than one mapped primitive.
"""

import json
import math
import pathlib
import tempfile
import unittest

import reference_support as support

CASES = json.loads((support.REFERENCE / "users" / "cases.json").read_text())["cases"]
MATMUL = "Y[m,n] += X[m,k] * W[k,n]"


def expected(key):
    return CASES[key]["expected"]


def analyzed(problem, levels, mapping, clock=None):
    """The report of a problem given as the spec's `problem` part."""
    machine = {"name": "asked", "levels": levels}
    if clock:
        machine["clock"] = clock
    lines = [line.split("#")[0].strip() for line in mapping.replace(";", "\n").splitlines()]
    return support.analyze({"einflow": 1, "problem": problem, "machine": machine,
                            "mapping": [line for line in lines if line]})


def level(report, name):
    return next(entry for entry in report["levels"] if entry["level"] == name)


def bytes_moved(report, name):
    return level(report, name)["bytes_read"] + level(report, name)["bytes_written"]


def elements(report, tensor):
    """Elements of a whole tensor: what the outermost storage holds of it."""
    return next(hold for hold in report["holds"] if hold["tensor"] == tensor)["tile_elements"]


def tensor_bytes(report, tensor):
    return next(hold for hold in report["holds"] if hold["tensor"] == tensor)["tile_bytes"]


ONE_UNIT = [{"storage": "Memory"}, {"compute": "MAC", "rate": "1 op/cycle"}]
ONE_UNIT_WITH_LATCHES = [{"storage": "Memory"}, {"compute": "MAC", "rate": "1 op/cycle", "latches": True}]


def counted(constructor, ranks, **parameters):
    """The report of a constructed primitive on one unit, for its sizes and operations; `ranks` are its loops."""
    return analyzed({constructor: parameters}, ONE_UNIT, f"for {ranks} by 1")


def convolution(**parameters):
    return counted("conv2d", ("n g k c p q r s" if parameters.get("groups", 1) > 1 else "n k c p q r s"), **parameters)


def linear(rows, in_features, out_features):
    return counted("linear", "m o i", m=rows, in_features=in_features, out_features=out_features)


def attention(product, **parameters):
    head_ranks = "h" if parameters.get("kv_heads", parameters["heads"]) == parameters["heads"] else "g u"
    inner = "e" if product == "attention_scores" else "f"
    return counted(product, f"b {head_ranks} q t {inner}", **parameters)


def attention_flops(**parameters):
    """Both matrix products; a softmax is no multiply-add."""
    return sum(attention(product, **parameters)["problem"]["flops"]
               for product in ("attention_scores", "attention_context"))


class Chip:
    """A memory, room on the chip for everything, one unit that does a MAC a cycle; its clock gives the peak."""

    def __init__(self, bandwidth, peak_tera_flops):
        self.clock = f"{peak_tera_flops * 1000 / 2} GHz"
        self.levels = [{"storage": "HBM", "bandwidth": {"shared": bandwidth}}, {"storage": "Chip"},
                       {"compute": "Unit", "rate": "1 op/cycle"}]


H100 = Chip("3.35 TB/s", 989)


def every_word_once(problem, chip, tensors, ranks):
    return analyzed(problem, chip.levels, f"at Chip: {tensors}; for {ranks} by 1", chip.clock)


def square_matmul(size, chip):
    return every_word_once({"einsum": MATMUL, "ranks": {"m": size, "n": size, "k": size}}, chip, "X W Y", "m n k")


class Movement(unittest.TestCase):
    def test_conv1d_sliding_reuse(self):
        levels = [{"storage": "Main"}, {"storage": "Buffer"}, {"compute": "MAC", "rate": "1 op/cycle"}]
        problem = {"einsum": "O[k,p] += W[k,r] * I[p+r]", "ranks": {"k": 32, "p": 16, "r": 3}}
        answer = expected("conv1d_sliding_reuse")
        for name, loops in (("A", "p k"), ("B", "k p")):
            with self.subTest(mapping=name):
                report = analyzed(problem, levels, f"for {loops} by 1; at Buffer: I W O; for r by 1")
                main = level(report, "Main")
                self.assertEqual({"Main reads I": main["reads"]["I"], "Main reads W": main["reads"]["W"],
                                  "Main reads O": main["reads"]["O"], "Main writes O": main["writes"]["O"]},
                                 answer[name])
                self.assertEqual(report["problem"]["macs"], answer["MACs"])

    # Known fault: `at DRAM: W` is taken as if it named every tensor, and nothing says so.
    def test_bypass_outermost(self):
        """Every tensor of a nest starts in the outermost storage; a line that keeps two out of it is to be refused."""
        levels = [{"storage": "DRAM"}, {"storage": "Buffer"}, {"compute": "MAC", "rate": "1 op/cycle"}]
        spec = support.spec("O[p] += W[r] * I[p+r]", {"p": 16, "r": 3}, levels,
                            "at DRAM: W; at Buffer: W I O; for r p by 1")
        outcome = support.einflow_on("analyze", spec, "--json")
        self.assertEqual(outcome.status, 2, outcome.messages)
        self.assertIn("I", outcome.messages)
        self.assertIn("O", outcome.messages)

    def test_traffic_monotone(self):
        answer = expected("traffic_monotone")["DRAM words at S=12288"]
        problem = {"einsum": MATMUL, "ranks": {"m": 64, "n": 64, "k": 64}, "types": dict.fromkeys("XWY", "int8")}
        for words, nest in ((12288, "at Buffer: X W Y; for m n k by 1"),
                            (4161, "at Buffer: W; for m by 1; at Buffer: X; for n by 1; at Buffer: Y; for k by 1")):
            with self.subTest(words=words):
                levels = [{"storage": "DRAM"}, {"storage": "Buffer", "capacity": f"{words} B"},
                          {"compute": "MAC", "rate": "1 op/cycle"}]
                report = analyzed(problem, levels, nest)
                self.assertEqual(bytes_moved(report, "DRAM"), answer)
                self.assertEqual(level(report, "Buffer")["occupancy_bytes"], words)

    def test_q50_one_register_per_tensor(self):
        orders = {"WS": "k n m", "OS": "m n k", "IS": "m k n"}
        weight_reads = {}
        for name, loops in orders.items():
            with self.subTest(order=name):
                problem = {"einsum": "C[m,n] += A[m,k] * B[k,n]", "ranks": {"m": 16, "n": 16, "k": 16}}
                memory = level(analyzed(problem, ONE_UNIT_WITH_LATCHES, f"for {loops} by 1"), "Memory")
                found = {"A": memory["reads"]["A"], "B": memory["reads"]["B"], "C_reads": memory["reads"]["C"],
                         "C_writes": memory["writes"]["C"]}
                self.assertEqual(found, expected("q50")[name])
                weight_reads[name] = found["B"]
        self.assertEqual(min(weight_reads, key=weight_reads.get), expected("q50")["least weight reads"])

    def tiled(self, size, tile, capacity=None):
        buffer = {"storage": "Buffer", **({"capacity": capacity} if capacity else {})}
        levels = [{"storage": "Memory"}, buffer, {"compute": "MAC", "rate": "1 op/cycle"}]
        nest = f"for m by {tile}; for n by {tile}; for k by {tile}; at Buffer: A B C; for m n k by 1"
        return support.spec("C[m,n] += A[m,k] * B[k,n]", dict.fromkeys("mnk", size), levels, nest)

    def test_q51_small_tiles(self):
        memory = level(support.analyze(self.tiled(16, 8)), "Memory")
        self.assertEqual({"A": memory["reads"]["A"], "B": memory["reads"]["B"], "C_reads": memory["reads"]["C"],
                          "C_writes": memory["writes"]["C"]}, expected("q51"))

    def test_q52_output_stationary_tiles(self):
        memory = level(support.analyze(self.tiled(1024, 32)), "Memory")
        found = {"A": memory["reads"]["A"], "B": memory["reads"]["B"], "C": memory["writes"]["C"]}
        self.assertEqual({**found, "total": sum(found.values())}, expected("q52"))
        self.assertEqual(memory["reads"]["C"], 0)

    def test_q53_largest_tile_that_fits(self):
        answer = expected("q53")
        report = support.analyze(self.tiled(4096, answer["T"], "96 KiB"))
        memory = level(report, "Memory")
        self.assertEqual(sum(memory["reads"][tensor] + memory["writes"][tensor] for tensor in "ABC"), answer["words"])
        self.assertEqual(level(report, "Buffer")["occupancy_bytes"], 96 * 1024)
        outcome = support.einflow_on("analyze", self.tiled(4096, 2 * answer["T"], "96 KiB"))
        self.assertEqual(outcome.status, 1)
        self.assertIn("Buffer", outcome.messages)

    def test_q44_halo(self):
        levels = [{"storage": "Memory"}, {"mesh": "devices", "axes": {"y": 2, "x": 2}}, {"storage": "Device"},
                  {"compute": "Core", "rate": "1 op/cycle"}]
        problem = {"conv2d": {"in_channels": 64, "out_channels": 1, "height": 224, "width": 224, "kernel": 3,
                              "padding": 1}}
        report = analyzed(problem, levels, "par p by 112 on devices.y; par q by 112 on devices.x; at Device: I F O; "
                                           "for n k c p q r s by 1")
        needed = support.hold(report, "Device", "I")["tile_elements"]
        self.assertEqual(needed - 112 * 112 * 64, expected("q44")["words"])


class Time(unittest.TestCase):
    def test_latency_max_rule(self):
        # 10 x 10 x 10 MACs a step on 1000 units, the 200 4-bit operands (100 B) multicast anew in each of 10 steps.
        problem = {"einsum": "Y[b,m,n] += X[m,k] * W[k,n]", "ranks": {"b": 10, "m": 10, "n": 10, "k": 10},
                   "types": {"X": "int4", "W": "int4", "Y": "int8"}}
        levels = [{"storage": "DRAM", "bandwidth": {"read": "5 B/cycle", "write": "1000 B/cycle"}},
                  {"storage": "Buffer", "bandwidth": {"read": "20 B/cycle", "write": "1000 B/cycle"}},
                  {"mesh": "units", "axes": {"m": 10, "n": 10, "k": 10}, "multicast": True, "reduction": True},
                  {"compute": "MAC", "rate": "1 op/cycle"}]
        report = analyzed(problem, levels, "at Buffer: X W; for b by 1; par m by 1 on units.m; par n by 1 on units.n; "
                                           "par k by 1 on units.k")
        self.assertEqual(level(report, "DRAM")["bytes_read"], 100)
        self.assertEqual(level(report, "Buffer")["bytes_read"], 1000)
        self.assertEqual(report["problem"]["macs"], 10000)
        answer = expected("latency_max_rule")
        self.assertEqual({"DRAM link": report["cycles"]["DRAM"], "RF link": report["cycles"]["Buffer"],
                          "compute": report["cycles"]["compute"]}, answer["terms"])
        self.assertEqual(report["cycles"]["overlapped"], answer["cycles"])
        self.assertEqual(report["cycles"]["limited_by"], "Buffer")

    def test_imperfect_temporal_spatial(self):
        problem = {"einsum": "O[m,p,q] += I[c,p+r,q+s] * W[m,c,r,s]",
                   "ranks": {"m": 2048, "c": 2048, "p": 7, "q": 7, "r": 3, "s": 3}}
        levels = [{"storage": "DRAM"}, {"mesh": "array", "axes": {"x": 4, "y": 4}},
                  {"compute": "MAC", "rate": "1 op/cycle"}]
        report = analyzed(problem, levels, "for m by 4; for c r s q by 1; for p by 4; par p by 1 on array.x; "
                                           "par m by 1 on array.y")
        answer = expected("imperfect_temporal_spatial")
        self.assertEqual(report["problem"]["macs"], answer["MACs"])
        self.assertEqual(report["cycles"]["compute"], answer["cycles"])
        self.assertEqual(report["utilization"], answer["average use of the 16 units"])

    def pipelined(self, load_type):
        # A tile: 5 inputs, 25 additions, 5 outputs of a byte.
        problem = {"einsum": "Y[t,j] += X[t,i]", "ranks": {"t": 8, "j": 5, "i": 5},
                   "types": {"X": load_type, "Y": "int8"}}
        levels = [{"storage": "DRAM", "bandwidth": {"read": "1 B/cycle", "write": "1 B/cycle"}},
                  {"storage": "Buffer", "double_buffered": True}, {"compute": "Adder", "rate": "1 op/cycle"}]
        spec = {"einflow": 1, "problem": problem, "machine": {"name": "asked", "levels": levels},
                "mapping": ["for t by 1", "at Buffer: X Y", "for j i by 1"]}
        outcome = support.einflow_on("simulate", spec, "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        return outcome.report["cycles"]["pipelined"]

    def test_double_buffer_exposure(self):
        answer = expected("double_buffer_exposure")
        self.assertEqual(self.pipelined("int16"), answer["a"])   # loads of 10 cycles
        self.assertEqual(self.pipelined("48-bit"), answer["b"])  # loads of 30 cycles
        self.assertEqual(answer["a"] - 8 * 25 - 5, answer["a exposed load"])
        self.assertEqual(answer["b"] - 30 - 8 * 25 - 5, answer["b compute stall"])

    def systolic(self, size, sizes, dataflow, convention):
        rows, columns = size
        on_rows, on_columns, streams, stays = {"os": ("m", "n", "k", "Y"), "ws": ("k", "n", "m", "W")}[dataflow]
        levels = [{"storage": "SRAM"}, {"mesh": "array", "axes": {"rows": rows, "cols": columns}, "multicast": True,
                                        "reduction": True, "systolic": convention},
                  {"storage": "Reg"}, {"compute": "MAC", "rate": "1 op/cycle"}]
        parallel = ((on_rows, rows), (on_columns, columns))
        folds = [f"for {rank} by {extent}" for rank, extent in parallel if extent < sizes[rank]]
        nest = [*folds, f"par {on_rows} by 1 on array.rows", f"par {on_columns} by 1 on array.cols",
                f"at Reg: {stays}", f"for {streams} by 1"]
        return analyzed({"einsum": MATMUL, "ranks": sizes}, levels, "\n".join(nest))

    def test_systolic_os_small(self):
        answer = expected("systolic_os_small")
        for name, size in (("a", 4), ("b", 2)):
            for convention, word in (("last-operation", "compute"), ("drained", "drained")):
                with self.subTest(array=name, convention=convention):
                    report = self.systolic((size, size), dict.fromkeys("mnk", size), "os", convention)
                    self.assertEqual(report["cycles"]["systolic"], answer[f"{name} {word}"])

    def test_systolic_ws_gemm_gemv(self):
        answer = expected("systolic_ws_gemm_gemv")
        found = {}
        for name, rows in (("a", 256), ("b", 1)):
            report = self.systolic((128, 128), {"m": rows, "k": 768, "n": 256}, "ws", "last-operation")
            found[name] = report["cycles"]["systolic"]
            self.assertEqual(found[name], answer[f"cycles {name}"])
            self.assertEqual(report["cycles"]["compute"], answer["folds"] * rows)
            self.assertAlmostEqual(report["utilization"], answer[f"use {name}"], delta=1e-12)
        self.assertNotEqual(found["a"], found["b"])

    def test_q56_output_stationary_array(self):
        answer = expected("q56")
        report = self.systolic((128, 128), dict.fromkeys("mnk", 1024), "os", "drained")
        self.assertEqual(report["cycles"]["systolic"], answer["cycles"])
        self.assertEqual(report["cycles"]["compute"], answer["ideal cycles"])
        self.assertAlmostEqual(report["utilization"], answer["use"], delta=1e-12)

    def test_weight_bandwidth(self):
        answer = expected("weight_bandwidth")
        problem = {"conv2d": {"in_channels": 1024, "out_channels": 1024, "height": 7, "width": 7, "kernel": 1},
                   "types": dict.fromkeys("IFO", "int8")}
        levels = [{"storage": "DRAM"}, {"storage": "Buffer"}, {"compute": "MAC", "rate": "1 op/cycle"}]
        report = analyzed(problem, levels, "at Buffer: I F O; for n k c p q r s by 1")
        weight_bytes = level(report, "DRAM")["reads"]["F"]  # of one byte each
        self.assertEqual(weight_bytes, answer["weight bytes"])
        self.assertEqual(weight_bytes / 65567, answer["B per cycle"])
        self.assertEqual(report["problem"]["macs"], answer["MACs"])


class Roofline(unittest.TestCase):
    def test_q01_ridge(self):
        ridge = square_matmul(64, H100)["roofline"]["ridge_flop_per_byte"]
        self.assertAlmostEqual(ridge, expected("q01")["FLOP/B"], delta=5e-5)

    def test_q03_smallest_compute_bound_square(self):
        size = expected("q03")["N"]
        self.assertEqual(square_matmul(size, H100)["roofline"]["bound"], "compute")
        self.assertEqual(square_matmul(size - 1, H100)["roofline"]["bound"], "memory")

    def test_q04_decode_like_matmul(self):
        answer = expected("q04")
        report = every_word_once({"einsum": MATMUL, "ranks": {"m": 16, "n": 8192, "k": 8192}}, H100, "X W Y", "m n k")
        self.assertEqual(report["problem"]["flops"], answer["FLOPs"])
        self.assertEqual(bytes_moved(report, "HBM"), answer["bytes"])
        self.assertAlmostEqual(report["intensity"]["HBM"], answer["FLOP/B"], delta=1e-9)
        self.assertEqual(report["roofline"]["bound"], answer["bound"])
        self.assertAlmostEqual(report["seconds"] * 1e6, answer["time us"], delta=1e-6)
        compute = report["seconds"] * report["cycles"]["compute"] / report["cycles"]["overlapped"]
        self.assertAlmostEqual(compute * 1e6, answer["compute time us"], delta=1e-6)

    def test_q06_roof_of_a_kernel(self):
        answer = expected("q06")
        report = square_matmul(60, Chip("2.039 TB/s", 312))  # N/3 = 20 FLOP/B
        self.assertAlmostEqual(report["intensity"]["HBM"], 20, delta=1e-9)
        roof = report["roofline"]["attainable_flop_per_second"] / 1e12
        self.assertAlmostEqual(roof, answer["roof TFLOP/s"], delta=1e-9)
        self.assertAlmostEqual(10 / roof, answer["efficiency"], delta=1e-9)

    def test_q09_peak_of_tensor_cores(self):
        levels = [{"storage": "HBM"}, {"mesh": "gpu", "axes": {"sm": 132, "core": 4}},
                  {"compute": "TensorCore", "rate": "512 op/cycle", "atomic": {"m": 16, "n": 8, "k": 16}}]
        problem = {"einsum": MATMUL, "ranks": {"m": 132 * 16, "n": 4 * 8, "k": 1000 * 16}}
        report = analyzed(problem, levels, "par m by 16 on gpu.sm; par n by 8 on gpu.core; for k by 16", "1.83 GHz")
        self.assertEqual(report["utilization"], 1)
        tera_flops = report["problem"]["flops"] / report["seconds"] / 1e12
        self.assertAlmostEqual(tera_flops, expected("q09")["TFLOP/s"], delta=1e-6)

    def test_q10_tpu_v1(self):
        answer = expected("q10")
        levels = [{"storage": "Weights", "bandwidth": {"shared": "34 GB/s"}}, {"storage": "Chip"},
                  {"mesh": "array", "axes": {"x": 256, "y": 256}}, {"compute": "MAC", "rate": "1 op/cycle"}]
        problem = {"einsum": MATMUL, "ranks": {"m": 256, "n": 256, "k": 256}, "types": dict.fromkeys("XWY", "int8")}
        nest = "at Chip: X W Y; par n by 1 on array.x; par k by 1 on array.y; for m by 1"
        roofline = analyzed(problem, levels, nest, "700 MHz")["roofline"]
        self.assertAlmostEqual(roofline["peak_flop_per_second"] / 1e12, answer["TOPS"], delta=1e-9)
        self.assertAlmostEqual(roofline["ridge_flop_per_byte"] / 2, answer["MAC/B"], delta=1e-9)

    def test_q47_depthwise_intensity(self):
        answer = expected("q47")
        problem = {"depthwise_conv2d": {"channels": 512, "height": 14, "width": 14, "kernel": 3, "padding": 1},
                   "types": dict.fromkeys("IFO", "fp16")}
        report = every_word_once(problem, H100, "I F O", "n c p q r s")
        self.assertEqual(report["problem"]["macs"], answer["MACs"])
        self.assertAlmostEqual(report["intensity"]["HBM"], answer["FLOP/B"], delta=1e-9)

    def test_q59_einsum_of_scores(self):
        answer = expected("q59")
        problem = {"einsum": "O[b,h,q,k] += Q[b,h,q,d] * K[b,h,k,d]",
                   "ranks": {"b": 2, "h": 16, "q": 128, "k": 1024, "d": 64}}
        report = every_word_once(problem, H100, "Q K O", "b h q k d")
        self.assertEqual(report["problem"]["macs"], answer["MACs"])
        for tensor in "QKO":
            self.assertEqual(elements(report, tensor), answer[tensor])
        self.assertAlmostEqual(report["intensity"]["HBM"], answer["FLOP/B"], delta=1e-9)


class Energy(unittest.TestCase):
    def test_mac_energy_vs_units(self):
        answer = expected("mac_energy_vs_units")
        problem = {"einsum": "O[m,p,q] += I[c,p+r,q+s] * W[m,c,r,s]",
                   "ranks": {"m": 128, "c": 64, "p": 112, "q": 112, "r": 3, "s": 3}}
        for name, channels in (("a", 8), ("b", 2)):
            with self.subTest(units=7 * 3 * channels):
                levels = [{"storage": "DRAM"}, {"mesh": "array", "axes": {"x": 7, "y": 3 * channels}},
                          {"compute": "MAC", "rate": "1 op/cycle", "energy": "2.2 pJ"}]
                report = analyzed(problem, levels, f"for m q r by 1; for c by {channels}; for p by 7; par p by 1 "
                                                   "on array.x; par c by 1 on array.y; par s by 1 on array.y")
                self.assertEqual(report["problem"]["macs"], answer["MACs"])
                self.assertAlmostEqual(report["energy_pj"]["MAC"], answer[f"MAC energy pJ ({name})"], delta=1e-3)
                self.assertEqual(report["cycles"]["compute"], answer[f"compute cycles ({name})"])
                self.assertEqual(report["utilization"], 1)

    def test_q57_energy_by_level(self):
        # The question charges an operand's way into the buffer, but only one access for an output in the buffer, and
        # register accesses only where a MAC makes them: writes into the operand registers and into the output buffer
        # are free here. A sum's 64 register reads and writes are the law's 63 read-modify-writes and first write, and
        # its drain.
        answer = expected("q57")
        levels = [{"storage": "DRAM", "energy": "200 pJ/element"}, {"storage": "Buffer", "energy": "6 pJ/element"},
                  {"storage": "OutputBuffer", "energy": {"read": "6 pJ/element", "write": "0 pJ/element"}},
                  {"storage": "Sums", "energy": "1 pJ/element"},
                  {"storage": "Operands", "energy": {"read": "1 pJ/element", "write": "0 pJ/element"}},
                  {"compute": "MAC", "rate": "1 op/cycle", "energy": "1 pJ"}]
        report = analyzed({"einsum": "C[m,n] += A[m,k] * B[k,n]", "ranks": dict.fromkeys("mnk", 64)}, levels,
                          "at Buffer: A B; at OutputBuffer: C; for m n by 1; at Sums: C; for k by 1; at Operands: A B")
        energy = report["energy_pj"]
        self.assertEqual({"MAC": energy["MAC"], "register": energy["Operands"] + energy["Sums"],
                          "buffer": energy["Buffer"] + energy["OutputBuffer"], "DRAM": energy["DRAM"],
                          "total": energy["total"]}, answer)


class Operations(unittest.TestCase):
    def test_sdpa_flops(self):
        answer = expected("sdpa_flops")
        self.assertEqual(attention_flops(batch=2, heads=5, queries=9, keys=9, head_dim=4), answer["a"])
        self.assertEqual(attention_flops(batch=1, heads=12, queries=64, keys=64, head_dim=64), answer["b"])

    def test_causal_rectangular(self):
        answer = expected("causal_rectangular")
        scores = attention("attention_scores", heads=1, queries=4, keys=10, head_dim=8, causal=1)["problem"]
        context = attention("attention_context", heads=1, queries=4, keys=10, head_dim=16, causal=1)["problem"]
        self.assertEqual(scores["flops"] + context["flops"], answer["FLOPs a"])
        one_wide = attention("attention_scores", heads=1, queries=4, keys=10, head_dim=1, causal=1)["problem"]
        self.assertEqual(one_wide["macs"], answer["pairs a"])

    def test_gqa_layer_flops(self):
        answer = expected("gqa_layer_flops")
        hidden, kv_width, ffn = 8192, 8 * 128, 28672

        def flops(*shapes):
            return sum(linear(1, *shape)["problem"]["flops"] for shape in shapes)

        found = {"Q+O": flops((hidden, hidden), (hidden, hidden)), "K+V": flops((hidden, kv_width), (hidden, kv_width)),
                 "scores+values": attention_flops(heads=64, kv_heads=8, queries=1, keys=4096, head_dim=128),
                 "FFN": flops((hidden, ffn), (hidden, ffn), (ffn, hidden))}
        self.assertEqual({**found, "total": sum(found.values())}, answer)

    def test_broadcast_matmul(self):
        answer = expected("broadcast_matmul")
        report = counted("batched_matmul", "l r m n k", b=1, left_batch=5, right_batch=3, m=8, n=4, k=16)
        self.assertEqual(report["problem"]["macs"], answer["MACs"])
        self.assertEqual({"A": elements(report, "X"), "B": elements(report, "W"), "C": elements(report, "Y")},
                         answer["unique words"])
        ranks = report["problem"]["ranks"]
        self.assertEqual([ranks["r"], ranks["l"], ranks["m"], ranks["n"]], answer["shape"])

    def transposed(self, **parameters):
        """MACs of the phases of a transposed convolution, and its output's shape, from a library of one layer."""
        with tempfile.TemporaryDirectory() as folder:
            problems = pathlib.Path(folder) / "problems"
            problems.mkdir()
            layer = {"name": "layer", "transposed_conv2d": parameters}
            (problems / "asked.yaml").write_text(json.dumps({"name": "asked", "layers": [layer]}))
            outcome = support.einflow("problems", "asked", "--library", folder, "--json")
        self.assertEqual(outcome.status, 0, outcome.messages)
        phases = [einsum["ranks"] for einsum in outcome.report["layers"][0]["einsums"]]
        # The phases interleave: together they have every output once.
        area = sum(ranks["p"] * ranks["q"] for ranks in phases)
        channels = phases[0]["k"] * phases[0].get("g", 1)
        return outcome.report["macs"], phases[0]["n"] * channels * area, channels

    def adjoint_macs(self, batch, in_channels, out_channels, size, kernel, stride, padding=0, groups=1, output=None):
        """The convolution that a transposed one is the adjoint of multiplies the same pairs."""
        report = convolution(batch=batch, in_channels=out_channels, out_channels=in_channels, height=output[0],
                             width=output[1], kernel=kernel, stride=stride, padding=padding, groups=groups)
        ranks = report["problem"]["ranks"]
        self.assertEqual([ranks["p"], ranks["q"]], list(size))
        return report["problem"]["macs"]

    def test_conv_transpose_train_forward(self):
        answer = expected("conv_transpose_train")
        macs, outputs, channels = self.transposed(batch=6, in_channels=192, out_channels=384, height=30, width=96,
                                                  kernel=2, stride=2)
        self.assertEqual(2 * macs, answer["forward"])
        self.assertEqual(500 * (2 * macs + answer["weight grad"]), answer["500 forward+weight-grad steps"])
        batch, out_channels, height, width = answer["output shape"]
        self.assertEqual((outputs, channels), (batch * out_channels * height * width, out_channels))

    def test_conv_transpose_small(self):
        shapes = {"a": {"in_channels": 4, "out_channels": 6, "kernel": 4, "stride": 2, "padding": 1},
                  "b": {"in_channels": 4, "out_channels": 4, "kernel": 3, "stride": 2, "padding": 1,
                        "output_padding": 1, "groups": 4},
                  "c": {"in_channels": 6, "out_channels": 6, "kernel": 2, "stride": 2, "groups": 3}}
        for name, shape in shapes.items():
            with self.subTest(layer=name):
                answer = expected("conv_transpose_small")[name]
                macs, outputs, channels = self.transposed(batch=2, height=8, width=8, **shape)
                self.assertEqual(macs, answer["MACs"])
                self.assertEqual(outputs, answer["bias adds"])
                self.assertEqual(outputs, math.prod(answer["out"]))
                plain = {key: value for key, value in shape.items() if key != "output_padding"}
                self.assertEqual(self.adjoint_macs(batch=2, size=(8, 8), output=answer["out"][2:], **plain),
                                 answer["MACs"])

    def test_conv_transpose_tiny(self):
        first = expected("conv_transpose_tiny")["first"]
        shape = {"batch": 1, "in_channels": 3, "out_channels": 1, "kernel": 2, "stride": 2}
        macs, outputs, _ = self.transposed(height=2, width=2, **shape)
        self.assertEqual((macs, outputs), (first["MACs"], first["bias adds"]))
        second = expected("conv_transpose_tiny")["second"]
        shape = {"batch": 1, "in_channels": 32, "out_channels": 1, "kernel": 3, "stride": 1}
        _, outputs, _ = self.transposed(height=1, width=1, **shape)
        self.assertEqual(outputs, math.prod(second["out"]))
        # Overlapping windows: the phases gather nine products an output, eight of them with zeros around the one
        # pixel; the products proper are those of the adjoint.
        self.assertEqual(self.adjoint_macs(size=(1, 1), output=second["out"][2:], **shape), second["MACs"])

    def test_conv_transpose_train_gradients(self):
        answer = expected("conv_transpose_train")
        ranks = {"n": 6, "c": 192, "k": 384, "h": 30, "w": 96, "r": 2, "s": 2}
        for name, einsum in (("weight grad", "F[c,k,r,s] += X[n,c,h,w] * O[n,k,2*h+r,2*w+s]"),
                             ("input grad", "X[n,c,h,w] += O[n,k,2*h+r,2*w+s] * F[c,k,r,s]")):
            with self.subTest(gradient=name):
                report = analyzed({"einsum": einsum, "ranks": ranks}, ONE_UNIT, "for n c k h w r s by 1")
                self.assertEqual(report["problem"]["flops"], answer[name])

    def test_q18_causal_attention(self):
        shape = {"heads": 32, "queries": 8192, "keys": 8192, "head_dim": 128}
        self.assertEqual(attention_flops(**shape), expected("q18")["full"])
        self.assertEqual(attention_flops(**shape, causal=1), expected("q18")["causal"])

    def test_q19_where_attention_meets_the_linear_layers(self):
        length, hidden = expected("q19")["S"], 4096
        layers = [(hidden, hidden)] * 4 + [(hidden, 4 * hidden), (4 * hidden, hidden)]
        of_linear = sum(linear(1, *shape)["problem"]["flops"] for shape in layers)
        self.assertEqual(attention_flops(heads=32, queries=1, keys=length, head_dim=128), of_linear)

    def test_q20_unfused_attention(self):
        answer = expected("q20")
        shape = {"heads": 32, "queries": 4096, "keys": 4096, "head_dim": 128}
        exponentials = {"einsum": "P[h,q,t] = exp(S[h,q,t])", "ranks": {"h": 32, "q": 4096, "t": 4096}}
        scores = every_word_once({"attention_scores": shape}, H100, "Q K S", "b h q t e")
        softmax = every_word_once(exponentials, H100, "S P", "h q t")
        context = every_word_once({"attention_context": shape}, H100, "P V O", "b h q t f")
        unfused = sum(bytes_moved(report, "HBM") for report in (scores, softmax, context))
        kept = ((scores, "Q"), (scores, "K"), (context, "V"), (context, "O"))
        fused = sum(tensor_bytes(report, tensor) for report, tensor in kept)
        self.assertEqual({"fused": fused, "unfused": unfused, "ratio": unfused / fused}, answer)

    def test_q21_sliding_window(self):
        shape = {"heads": 1, "queries": 8192, "keys": 8192, "head_dim": 1, "causal": 1}
        pairs = attention("attention_scores", **shape, window=1024)["problem"]["macs"]
        self.assertEqual(pairs, expected("q21")["pairs"])
        self.assertEqual(pairs / attention("attention_scores", **shape)["problem"]["macs"], expected("q21")["share"])

    def test_q24_swiglu(self):
        shapes = [(4096, 14336), (4096, 14336), (14336, 4096)]
        self.assertEqual(sum(linear(1, *shape)["problem"]["flops"] for shape in shapes), expected("q24")["FLOPs"])

    def test_q39_one_step_of_ring_attention(self):
        answer = expected("q39")
        shape = {"heads": 32, "kv_heads": 8, "queries": 16384, "keys": 16384, "head_dim": 128}
        scores, context = attention("attention_scores", **shape), attention("attention_context", **shape)
        self.assertEqual(tensor_bytes(scores, "K") + tensor_bytes(context, "V"), answer["bytes"])
        flops = scores["problem"]["flops"] + context["problem"]["flops"]
        self.assertEqual(flops, answer["FLOPs"])
        self.assertAlmostEqual(flops / 989e12 * 1e6, answer["compute us"], delta=1e-9)

    def test_q45_im2col(self):
        answer = expected("q45")
        conv = convolution(batch=32, in_channels=64, out_channels=128, height=56, width=56, kernel=3, padding=1)
        ranks = conv["problem"]["ranks"]
        product = {"M": ranks["n"] * ranks["p"] * ranks["q"], "N": ranks["k"],
                   "K": ranks["c"] * ranks["r"] * ranks["s"]}
        self.assertEqual(product, {name: answer[name] for name in "MNK"})
        as_matmul = counted("matmul", "m n k", m=product["M"], n=product["N"], k=product["K"])
        self.assertEqual(conv["problem"]["flops"], answer["FLOPs"])
        self.assertEqual(as_matmul["problem"]["flops"], answer["FLOPs"])
        self.assertEqual(elements(conv, "I"), answer["input words"])
        self.assertEqual(elements(as_matmul, "X"), answer["im2col words"])
        self.assertEqual(elements(as_matmul, "X") / elements(conv, "I"), answer["blow-up"])

    def test_q46_output_sizes(self):
        shapes = {"first": {"width": 227, "kernel": 11, "stride": 4},
                  "second": {"width": 32, "kernel": 3, "dilation": 2}}
        for name, shape in shapes.items():
            report = counted("conv1d", "n k c p r", in_channels=1, out_channels=1, **shape)
            self.assertEqual(report["problem"]["ranks"]["p"], expected("q46")[name])

    def test_q49_resnet50(self):
        layers = [(3, 64, 7, 2, 224)]
        channels = 64
        for width, blocks, size in ((64, 3, 56), (128, 4, 56), (256, 6, 28), (512, 3, 14)):
            stride = 1 if width == 64 else 2
            layers.append((channels, 4 * width, 1, stride, size))  # the shortcut
            for block in range(blocks):
                layers += [(channels, width, 1, 1, size), (width, width, 3, stride, size)]
                size, stride = size // stride, 1
                layers.append((width, 4 * width, 1, 1, size))
                channels = 4 * width
        self.assertEqual(len(layers), 53)

        def macs(layer):
            in_channels, out_channels, kernel, stride, size = layer
            return convolution(in_channels=in_channels, out_channels=out_channels, kernel=kernel, stride=stride,
                               padding=kernel // 2, height=size, width=size)["problem"]["macs"]

        distinct = sorted(set(layers))
        of = dict(zip(distinct, support.in_parallel(macs, distinct)))
        total = sum(of[layer] for layer in layers) + linear(1, 2048, 1000)["problem"]["macs"]
        self.assertEqual({"MACs": total, "FLOPs": 2 * total}, expected("q49"))
        network = support.einflow("problems", "resnet50", "--json")
        self.assertEqual(network.status, 0, network.messages)
        self.assertEqual(network.report["macs"], total)


class Sizes(unittest.TestCase):
    def kv_cache_bytes(self, layers, **shape):
        keys = attention("attention_scores", queries=1, head_dim=128, **shape)
        values = attention("attention_context", queries=1, head_dim=128, **shape)
        return layers * (tensor_bytes(keys, "K") + tensor_bytes(values, "V"))

    def test_q13_kv_cache_of_grouped_heads(self):
        answer = expected("q13")
        self.assertEqual(self.kv_cache_bytes(32, heads=32, kv_heads=8, keys=1), answer["B/token"])
        self.assertEqual(self.kv_cache_bytes(32, heads=32, kv_heads=8, keys=8192) / 2**30, answer["8192 tokens GiB"])

    def test_q14_kv_cache_of_a_batch(self):
        answer = expected("q14")
        self.assertEqual(self.kv_cache_bytes(32, heads=32, keys=1), answer["B/token"])
        self.assertEqual(self.kv_cache_bytes(32, batch=16, heads=32, keys=4096) / 2**30, answer["GiB"])

    def test_q60_weights_in_gb_and_gib(self):
        answer = expected("q60")
        problem = {"linear": {"m": 1, "in_features": 1000000, "out_features": 70000}}
        for capacity, status in (("140 GB", 0), ("139.9 GB", 1), ("131 GiB", 0), ("130 GiB", 1)):
            with self.subTest(capacity=capacity):
                levels = [{"storage": "Disk"}, {"storage": "Memory", "capacity": capacity},
                          {"compute": "Core", "rate": "1 op/cycle"}]
                spec = {"einflow": 1, "problem": problem, "machine": {"name": "asked", "levels": levels},
                        "mapping": ["at Memory: W", "for m o i by 1"]}
                outcome = support.einflow_on("analyze", spec, "--json")
                self.assertEqual(outcome.status, status, outcome.messages)
                if status == 0:
                    occupied = level(outcome.report, "Memory")["occupancy_bytes"]
                    self.assertEqual(occupied / 1e9, answer["GB"])
                    self.assertEqual(occupied / 2**30, answer["GiB"])


class Errors(unittest.TestCase):
    def test_no_compute_unit(self):
        spec = support.spec(MATMUL, dict.fromkeys("mnk", 4), [{"storage": "DRAM"}, {"storage": "Buffer"}],
                            "at Buffer: X W Y; for m n k by 1")
        for command in ("analyze", "simulate"):
            outcome = support.einflow_on(command, spec)
            self.assertEqual(outcome.status, 2)
            self.assertIn("compute", outcome.messages)


if __name__ == "__main__":
    unittest.main()
