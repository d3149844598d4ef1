"""Hugging Face configs: parameters, KV caches and MACs against published figures and against formulas of their own.

tests/reference/huggingface/*.json hold the published values of each model's config.json, but for keys on which nothing
depends; README.md beside them names the sources of the figures.
"""

import json
import pathlib
import random
import re
import tempfile
import unittest

import reference_support as support

CONFIGS = support.REFERENCE / "huggingface"
EXAMPLES = support.EXAMPLES / "notations" / "huggingface"

# Elements of all weights, tied ones once. "index": the count that the model's repository states for its safetensors
# files (of Llama 2 13B and 70B less the 64 x layers frequencies of the rotary embedding that are stored there too);
# "card": model card; "docs": torchvision's documentation; "code": num_parameters() of transformers' class, as users
# report it.
PARAMETERS = {
    "llama-2-7b": (6_738_415_616, "index"),
    "llama-2-13b": (13_015_864_320, "index"),
    "llama-2-70b": (68_976_648_192, "index"),
    "llama-3-8b": (8_030_261_248, "index"),
    "llama-3-70b": (70_553_706_496, "index"),
    "llama-3.1-405b": (405_853_388_800, "index"),
    "llama-3.2-1b": (1_235_814_400, "index"),
    "mistral-7b-v0.1": (7_241_732_096, "index"),
    "mixtral-8x7b": (46_702_792_704, "index"),
    "mixtral-8x22b": (140_630_071_296, "index"),
    "qwen2-0.5b": (494_032_768, "index"),
    "qwen2-7b": (7_615_616_512, "index"),
    "qwen2-72b": (72_706_203_648, "index"),
    "qwen1.5-moe-a2.7b": (14_315_784_192, "index"),
    "qwen3-8b": (8_190_735_360, "index"),
    "qwen3-30b-a3b": (30_532_122_624, "index"),
    "deepseek-v2-lite": (15_706_484_224, "index"),
    "deepseek-v2": (235_741_434_880, "index"),
    "deepseek-v3": (671_026_419_200, "index, without the MTP layer and the scales of fp8"),
    "gpt2": (124_439_808, "code"),
    "gpt2-medium": (354_823_168, "code"),
    "gpt2-large": (774_030_080, "code"),
    "gpt2-xl": (1_557_611_200, "code"),
    "gpt-neox-20b": (20_554_567_680, "card"),
    "pythia-6.9b": (6_857_302_016, "card"),
    "gpt-j-6b": (6_050_882_784, "code"),
    "vit-base-patch16-224": (86_567_656, "docs"),
    "vit-large-patch16-224": (304_326_632, "docs"),
    "phi-2": (2_779_683_840, "index"),
    "phi-3-mini-4k": (3_821_079_552, "index"),
    "opt-125m": (125_239_296, "code"),
    "opt-350m": (331_196_416, "code"),
    "bert-base-uncased": (109_514_298, "code"),
    "gemma-2b": (2_506_172_416, "index"),
    "gemma-2-9b": (9_241_705_984, "index"),
    "gemma-3-1b": (999_885_952, "index"),
}

# Parameters that a token uses, as published, with as many digits as there are.
ACTIVE = {
    "mixtral-8x7b": ("12.9", "arXiv 2401.04088, section 1: 13B; blog: 12.9B"),
    "mixtral-8x22b": ("39", "mistral.ai/news/mixtral-8x22b: 39B active of 141B"),
    "deepseek-v2": ("21", "arXiv 2405.04434, abstract: 21B of 236B"),
    "deepseek-v3": ("37", "arXiv 2412.19437, abstract: 37B of 671B; 37.55 here; less the embedding's 0.93 it is the 36.6 "
                          "of the repository's README_WEIGHTS"),
    "qwen1.5-moe-a2.7b": ("2.7", "qwenlm.github.io/blog/qwen-moe: 2.7B activated"),
    "qwen3-30b-a3b": ("3.3", "model card: 3.3B activated of 30.5B; with 8 of 128 experts"),
}

# Bytes of a token's keys and values over all layers.
CACHE = {
    "llama-2-7b": (512 * 1024, "2 x 32 x 4096 elements of fp16, 0.5 MB a token in NVIDIA's and vLLM's texts"),
    "llama-2-13b": (800 * 1024, "arXiv 2309.06180 (vLLM), section 3: 800 KB for OPT-13B, which has the same sizes"),
    "llama-3-8b": (128 * 1024, "8 of 32 heads: 2 x 32 x 1024 elements"),
    "deepseek-v3": (70_272, "arXiv 2505.09343, table 1: 70.272 KB"),
    "qwen2-72b": (327_680, "arXiv 2505.09343, table 1: 327.680 KB for Qwen-2.5 72B, the same sizes"),
    "llama-3.1-405b": (516_096, "arXiv 2505.09343, table 1: 516.096 KB"),
    "gpt2-xl": (614_400, "2 x 48 x 1600 elements of fp32"),
}


def config_of(name):
    return json.loads((CONFIGS / f"{name}.json").read_text())


def network(path, **settings):
    """The JSON document of `problems` for a file or the name of a reference config."""
    if isinstance(path, str):
        path = CONFIGS / f"{path}.json"
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    outcome = support.einflow("problems", path, "--json", *options)
    if outcome.status != 0:
        raise AssertionError(outcome.messages)
    return outcome.report


def network_of(config, **settings):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(config))
        return network(path, **settings)


def figures(document):
    return {figure["figure"]: figure["value"] for figure in document["figures"]}


def value_of(derivation):
    """The value of a formula such as "embedding 128 x 8 + 2 x (q_proj 8 x 8)"."""
    text = re.sub(r"\([a-z]\w*\)", "", derivation)  # "(bf16)"
    text = re.sub(r"[A-Za-z_][\w.]*(?= |$|\))", lambda word: "*" if word.group() == "x" else "", text)
    text = re.sub(r"\b[a-z_]\w*", "", text)
    return eval(text.replace("/", "//"))  # nothing but digits, + - * // and parentheses


# The formulas below are written from the papers, not from the program: two multiplications of weights per token and
# the two products of attention.

def attention_pairs(queries, keys, window):
    """Pairs (query, key) under a causal mask; the last query sees the last key."""
    return sum(min(keys - queries + i + 1, window or keys) for i in range(queries))


def brute_decoder(config, batch, queries, keys):
    """Parameters and MACs of a decoder with RMSNorm, gated MLPs, grouped heads, perhaps experts; all without biases."""
    width, layers, vocabulary = config["hidden_size"], config["num_hidden_layers"], config["vocab_size"]
    heads = config["num_attention_heads"]
    kv_heads = config.get("num_key_value_heads") or heads
    head = config.get("head_dim") or width // heads
    tokens = batch * queries
    parameters = vocabulary * width + width
    macs = tokens * vocabulary * width
    if not config.get("tie_word_embeddings"):
        parameters += vocabulary * width
    matrices = width * head * (heads + 2 * kv_heads) + heads * head * width
    norms = 2 * width + (2 * head if config["model_type"].startswith("qwen3") else 0)
    bias = head * (heads + 2 * kv_heads) if config["model_type"] == "qwen2" else 0
    pairs = attention_pairs(queries, keys, config.get("sliding_window") if config["model_type"] == "mistral" else 0)
    for _ in range(layers):
        parameters += matrices + norms + bias
        macs += tokens * matrices + batch * heads * pairs * 2 * head
        if "num_experts_per_tok" in config:
            experts = config.get("num_local_experts") or config["num_experts"]
            expert = 3 * width * (config.get("moe_intermediate_size") or config["intermediate_size"])
            parameters += experts * (expert + width)
            macs += tokens * (config["num_experts_per_tok"] * expert + experts * width)
        else:
            parameters += 3 * width * config["intermediate_size"]
            macs += tokens * 3 * width * config["intermediate_size"]
    return parameters, macs


def brute_deepseek(config, batch, tokens, expanded):
    """Likewise with latent attention, each sequence's tokens seen by a causal mask, or one token with `tokens` keys."""
    queries = tokens if expanded else 1
    width, heads, layers = config["hidden_size"], config["num_attention_heads"], config["num_hidden_layers"]
    nope, rope, value = (config[key] for key in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    q_rank, kv_rank = config["q_lora_rank"], config["kv_lora_rank"]
    queries_up = heads * (nope + rope)
    matrices = width * q_rank + q_rank * queries_up if q_rank else width * queries_up
    matrices += width * (kv_rank + rope) + kv_rank * heads * (nope + value) + heads * value * width
    norms = 2 * width + (q_rank or 0) + kv_rank
    products = nope + rope + value if expanded else kv_rank + rope + kv_rank
    attention = batch * heads * attention_pairs(queries, tokens, 0) * products
    expert = 3 * width * config["moe_intermediate_size"]
    parameters = 2 * config["vocab_size"] * width + width + layers * (matrices + norms)
    macs = batch * queries * (config["vocab_size"] * width + layers * matrices) + layers * attention
    for layer in range(layers):
        if layer < config["first_k_dense_replace"]:
            parameters += 3 * width * config["intermediate_size"]
            macs += batch * queries * 3 * width * config["intermediate_size"]
            continue
        experts = config["n_routed_experts"]
        parameters += (experts + config["n_shared_experts"]) * expert + experts * width
        parameters += experts if config["topk_method"] == "noaux_tc" else 0
        chosen = config["num_experts_per_tok"] + config["n_shared_experts"]
        macs += batch * queries * (chosen * expert + experts * width)
    return parameters, macs


def random_decoder(pick):
    heads = pick.choice([1, 2, 3, 4, 6, 8])
    kv_heads = pick.choice([n for n in range(1, heads + 1) if heads % n == 0])
    head = 2 * pick.randint(1, 16)
    family = pick.choice(["llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe"])
    config = {"model_type": family, "hidden_size": heads * head, "num_hidden_layers": pick.randint(1, 5),
              "num_attention_heads": heads, "num_key_value_heads": kv_heads, "vocab_size": pick.randint(1, 300),
              "intermediate_size": pick.randint(1, 100), "torch_dtype": "bfloat16",
              "tie_word_embeddings": pick.choice([True, False])}
    if family in ("qwen3", "qwen3_moe") or pick.random() < 0.3:
        config["head_dim"] = 2 * pick.randint(1, 20)
    if family == "mistral":
        config["sliding_window"] = pick.choice([None, pick.randint(1, 40)])
    if family in ("mixtral", "qwen3_moe"):
        experts = pick.randint(1, 9)
        config["num_local_experts" if family == "mixtral" else "num_experts"] = experts
        config["num_experts_per_tok"] = pick.randint(1, experts)
        if family == "qwen3_moe":
            config["moe_intermediate_size"] = pick.randint(1, 50)
    return config


class PublishedFigures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        names = sorted(PARAMETERS)
        cls.documents = dict(zip(names, support.in_parallel(network, names)))

    def test_every_reference_config_has_a_published_figure(self):
        self.assertEqual(sorted(path.stem for path in CONFIGS.glob("*.json")), sorted(PARAMETERS))

    def test_parameters(self):
        for name, (expected, source) in PARAMETERS.items():
            with self.subTest(name, source=source):
                self.assertEqual(figures(self.documents[name])["parameters"], expected)

    def test_active_parameters(self):
        for name, (expected, source) in ACTIVE.items():
            with self.subTest(name, source=source):
                active = figures(self.documents[name])["active parameters per token"]
                if name == "deepseek-v3":
                    self.assertEqual(f"{active / 1e9:.2f}", "37.55")
                    self.assertEqual(f"{(active - 129280 * 7168) / 1e9:.1f}", "36.6")
                    continue
                if name == "qwen3-30b-a3b":
                    self.assertEqual(f"{active // 10**8 / 10}", expected)  # 3.35 in full: the card cuts, not rounds
                    continue
                digits = len(expected.partition(".")[2])
                self.assertEqual(f"{active / 1e9:.{digits}f}", expected)

    def test_kv_cache(self):
        for name, (expected, source) in CACHE.items():
            with self.subTest(name, source=source):
                self.assertEqual(figures(self.documents[name])["KV cache per token"], expected)

    def test_vision_transformers_have_the_macs_of_torchvision(self):
        # docs.pytorch.org/vision: "GFLOPS" 17.56 and 61.55, which are MACs in units of 10^9.
        for name, expected in (("vit-base-patch16-224", "17.56"), ("vit-large-patch16-224", "61.55")):
            self.assertEqual(f"{self.documents[name]['macs'] / 1e9:.2f}", expected)

    def test_llama_2_has_the_macs_that_calflops_publishes(self):
        # calflops' table of models: llama2-7b, batch 1, 128 tokens: 850 GMACs. It counts the products of attention
        # whole, as they are without a mask.
        document = network("llama-2-7b", seq=128)
        whole = sum(layer["repeat"] * einsum["operations"] for layer in document["layers"]
                    for einsum in layer["einsums"] if "macs" in einsum)
        self.assertEqual(round(whole / 1e9), 850)

    def test_derivations_have_the_value_of_their_figure(self):
        for name, document in self.documents.items():
            for figure in document["figures"]:
                with self.subTest(name, figure=figure["figure"]):
                    self.assertEqual(value_of(figure["derivation"].replace(" layers", "").replace(" B ", " ")),
                                     figure["value"])

    def test_macs_are_the_sum_of_the_layers(self):
        for name, document in self.documents.items():
            with self.subTest(name):
                total = sum(layer["repeat"] * layer["macs"] for layer in document["layers"])
                self.assertEqual(total, document["macs"])
                self.assertEqual(total, figures(document)["MACs"])
                self.assertEqual(document["flops"], 2 * total)

    def test_nothing_is_left_out_of_published_configs_in_silence(self):
        for name, document in self.documents.items():
            with self.subTest(name):
                told = 2 if name == "deepseek-v3" else 0
                self.assertEqual(len(document["left_out"]), told, document["left_out"])
                self.assertTrue(document["uncounted"])
                for layer in document["layers"]:
                    self.assertGreater(layer["macs"] + layer["other_operations"], 0, layer["layer"])


class Formulas(unittest.TestCase):
    def test_published_decoders(self):
        names = ["llama-2-7b", "llama-2-70b", "llama-3-8b", "llama-3.1-405b", "llama-3.2-1b", "mistral-7b-v0.1",
                 "mixtral-8x7b", "mixtral-8x22b", "qwen2-7b", "qwen2-72b", "qwen3-8b", "qwen3-30b-a3b"]
        for name in names:
            config = config_of(name)
            for batch, queries, keys in ((1, 2048, 2048), (3, 1, 777)):
                with self.subTest(name, queries=queries):
                    phase = {"phase": "decode"} if queries == 1 else {"seq": queries}
                    document = network(name, batch=batch, context=keys, **phase)
                    self.assertEqual((figures(document)["parameters"], document["macs"]),
                                     brute_decoder(config, batch, queries, keys))

    def test_latent_attention(self):
        for name in ("deepseek-v2-lite", "deepseek-v2", "deepseek-v3"):
            for batch, tokens, expanded in ((2, 640, True), (5, 1234, False)):
                with self.subTest(name, expanded=expanded):
                    settings = {"seq": tokens} if expanded else {"phase": "decode", "context": tokens}
                    document = network(name, batch=batch, **settings)
                    self.assertEqual((figures(document)["parameters"], document["macs"]),
                                     brute_deepseek(config_of(name), batch, tokens, expanded))

    def test_random_decoders(self):
        def check(seed):
            pick = random.Random(seed)
            config = random_decoder(pick)
            batch, queries = pick.randint(1, 5), pick.randint(1, 30)
            keys = queries + pick.choice([0, pick.randint(0, 30)])
            document = network_of(config, batch=batch, seq=queries, context=keys)
            found = figures(document)["parameters"], document["macs"]
            return found, brute_decoder(config, batch, queries, keys), config

        families = set()
        for found, expected, config in support.in_parallel(check, range(150)):
            families.add((config["model_type"], config.get("sliding_window") is not None))
            self.assertEqual(found, expected, config)
        self.assertEqual(len(families), 7)  # six, and mistral with and without a window

    def test_gpt2_and_neox(self):
        for name, width, layers, inner, vocabulary, positions, tied in (
                ("gpt2-xl", 1600, 48, 6400, 50257, 1024, True), ("gpt-neox-20b", 6144, 44, 24576, 50432, 0, False)):
            tokens = 1000
            block = 4 * width * width + 2 * width * inner
            biases = 3 * width + width + inner + width + 4 * width
            document = network(name, seq=tokens)
            self.assertEqual(figures(document)["parameters"],
                             (1 if tied else 2) * vocabulary * width + positions * width + layers * (block + biases) +
                             2 * width)
            self.assertEqual(document["macs"], tokens * (layers * block + vocabulary * width) +
                             layers * 2 * width * tokens * (tokens + 1) // 2)

    def test_a_problem_file_of_the_network_has_its_macs(self):
        path = CONFIGS / "mixtral-8x7b.json"
        with tempfile.TemporaryDirectory() as folder:
            written = pathlib.Path(folder) / "network.yaml"
            outcome = support.einflow("translate", path, "--to", "problem", "-o", written)
            self.assertEqual(outcome.status, 0, outcome.messages)
            self.assertIn("not counted", outcome.messages)
            read_back = network(written)
        direct = network(path)
        for key in ("macs", "flops", "other_operations"):
            self.assertEqual(read_back[key], direct[key])


class View(unittest.TestCase):
    def test_text_fits_in_80_columns(self):
        for name in PARAMETERS:
            for settings in ((), ("--set", "phase=decode")):
                if settings and ("vit" in name or "bert" in name):
                    continue
                outcome = support.einflow("problems", CONFIGS / f"{name}.json", *settings)
                self.assertEqual(outcome.status, 0, outcome.messages)
                self.assertLessEqual(max(map(len, outcome.output.splitlines())), 80, name)

    def test_document(self):
        document = network("deepseek-v3")
        self.assertEqual(document["format"], "einflow-network-1")
        self.assertEqual((document["name"], document["form"]), ("deepseek_v3", "huggingface"))
        layer = next(layer for layer in document["layers"] if layer["layer"] == "router")
        self.assertEqual((layer["repeat"], layer["parameters"]), (58, 256 * 7168))
        self.assertEqual(layer["einsums"][0]["einsum"], "Y[m,o] += X[m,i] * W[o,i]")
        figure = next(figure for figure in document["figures"] if figure["figure"] == "KV cache per token")
        self.assertEqual((figure["value"], figure["unit"]), (70272, "B"))
        self.assertEqual(figure["derivation"], "(512 + 64) x 61 layers x 2 B (bf16)")

    def test_a_layer_is_a_part_of_a_spec(self):
        path = CONFIGS / "llama-3-8b.json"
        fragment = support.einflow("problems", path, "--layer", "q_proj").output
        self.assertIn('einsum: "Y[m,o] += X[m,i] * W[o,i]"', fragment)
        self.assertIn("ranks: {m: 2048, o: 4096, i: 4096}", fragment)
        part = support.einflow("problems", path, "--layer", "softmax/exp").output
        self.assertIn("exp(D[b,g,u,q,t])", part)
        self.assertNotIn("max=", part)
        document = support.einflow("problems", path, "--layer", "softmax", "--json").report
        self.assertEqual(document["format"], "einflow-layer-1")
        self.assertEqual([einsum["name"] for einsum in document["einsums"]],
                         ["max", "subtract", "exp", "sum", "divide"])

    def test_a_layer_is_analysed(self):
        spec = support.einflow("problems", CONFIGS / "llama-3-8b.json", "--layer", "scores", "--set", "seq=64").output
        self.assertIn("executes:", spec)
        report = support.analyze(spec + "machine: toy\nmapping: |\n  for b g u q t e by 1\n")
        self.assertEqual(report["problem"]["macs"], 32 * 128 * 64 * 65 // 2)

    def test_errors_name_what_there_is(self):
        path = CONFIGS / "llama-3-8b.json"
        for arguments, message in (
                ((path, "--layer", "q_prj"), "did you mean 'q_proj'?"),
                ((path, "--layer", "softmax/expo"), "did you mean 'exp'?"),
                ((path, "--set", "sequ=8"), "did you mean 'seq'?"),
                ((path, "-r", "m=8"), "-r does not apply"),
                (("no-such-file.json",), "cannot open 'no-such-file.json'"),
                (("resnet50", "--set", "batch=8"), "--set goes with a text in some notation"),
                (("resnet50", "--layer", "conv1"), "--layer goes with a text in some notation"),
                (("resnet50x",), "did you mean 'resnet50'?"),
                ((path, CONFIGS / "gpt2.json"), "a model is one config.json")):
            with self.subTest(message):
                outcome = support.einflow("problems", *arguments)
                self.assertEqual(outcome.status, 2)
                self.assertIn(message, outcome.messages)

    def test_other_notations_are_networks_too(self):
        document = network(support.EXAMPLES / "matmul-toy.yaml")
        self.assertEqual(document["form"], "einflow")
        self.assertEqual(len(document["layers"]), 1)
        self.assertTrue(document["layers"][0]["mapped"])

    def test_problem_files_are_shown_by_their_path(self):
        by_path = support.einflow("problems", support.ROOT / "problems" / "resnet50.yaml")
        self.assertEqual(by_path.output, support.einflow("problems", "resnet50").output)

    def test_examples(self):
        for path in sorted(EXAMPLES.glob("*.json")):
            self.assertEqual(support.einflow("problems", path).status, 0)


if __name__ == "__main__":
    unittest.main()
